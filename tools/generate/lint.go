package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// lint checks what the compiler does not. The error holds every finding, one a
// line with file and line number, and says what to do.
func lint(src *sources) error {
	l := &linter{}
	for _, f := range src.own {
		l.file(f)
	}
	return errors.Join(l.findings...)
}

type linter struct {
	findings []error
}

// report adds a finding at d.
func (l *linter) report(d protoreflect.Descriptor, format string, args ...any) {
	f := d.ParentFile()
	line := f.SourceLocations().ByDescriptor(d).StartLine + 1
	l.findings = append(l.findings, fmt.Errorf("proto/%s:%d: %s", f.Path(), line, fmt.Sprintf(format, args...)))
}

func (l *linter) file(f protoreflect.FileDescriptor) {
	folder := path.Dir(f.Path())
	if want := strings.ReplaceAll(folder, "/", "."); string(f.Package()) != want {
		l.report(f, "package %s stands in folder %s; call it %s", f.Package(), folder, want)
	}
	if noun := path.Base(path.Dir(folder)); path.Base(f.Path()) != noun+".proto" {
		l.report(f, "the file is not called after its noun; call it %s.proto", noun)
	}
	if !versionFolder.MatchString(path.Base(folder)) {
		l.report(f, "the last folder is not a version such as v1")
	}
	members := oneofMembers(f)
	for i := range f.Messages().Len() {
		l.message(f.Messages().Get(i), members)
	}
	for i := range f.Enums().Len() {
		l.enum(f.Enums().Get(i))
	}
	for i := range f.Services().Len() {
		l.service(f.Services().Get(i))
	}
}

var (
	versionFolder = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	snakeCase     = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

// oneofMembers names the messages that are a choice of some oneof: the choice's
// name says what they are.
func oneofMembers(f protoreflect.FileDescriptor) map[protoreflect.FullName]bool {
	members := map[protoreflect.FullName]bool{}
	for i := range f.Messages().Len() {
		fields := f.Messages().Get(i).Fields()
		for j := range fields.Len() {
			if fd := fields.Get(j); fd.ContainingOneof() != nil && fd.Message() != nil {
				members[fd.Message().FullName()] = true
			}
		}
	}
	return members
}

func (l *linter) message(m protoreflect.MessageDescriptor, members map[protoreflect.FullName]bool) {
	name := string(m.Name())
	obvious := strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "Response") || members[m.FullName()]
	if comment(m) == "" && !obvious && !m.IsMapEntry() {
		l.report(m, "message %s has no comment; say what it is", name)
	}
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); !snakeCase.MatchString(string(f.Name())) {
			l.report(f, "field %s is not in snake_case", f.FullName())
		}
	}
	for i := range m.Messages().Len() {
		l.message(m.Messages().Get(i), members)
	}
	for i := range m.Enums().Len() {
		l.enum(m.Enums().Get(i))
	}
}

func (l *linter) enum(e protoreflect.EnumDescriptor) {
	if comment(e) == "" {
		l.report(e, "enum %s has no comment; say what it tells", e.Name())
	}
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		if v.Number() == 0 && !strings.HasSuffix(string(v.Name()), "_unspecified") {
			l.report(v, "%s is the value zero; end its name with _unspecified", v.Name())
		}
		if !snakeCase.MatchString(string(v.Name())) {
			l.report(v, "enum value %s is not in snake_case", v.Name())
		}
	}
}

// standardMethods are those whose name says enough.
var standardMethods = []protoreflect.Name{"Create", "Update", "Apply", "Delete", "Get", "List", "Watch", "UpdateVisibility"}

func (l *linter) service(s protoreflect.ServiceDescriptor) {
	if comment(s) == "" {
		l.report(s, "service %s has no comment; say what it does", s.Name())
	}
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		if comment(m) == "" && !slices.Contains(standardMethods, m.Name()) {
			l.report(m, "rpc %s has no comment; say what it does", m.FullName())
		}
		if !internal(s.ParentFile().Path()) {
			l.http(m)
		}
	}
}

// http checks that a method has a REST form and that one that changes something
// can be repeated safely.
func (l *linter) http(m protoreflect.MethodDescriptor) {
	if m.IsStreamingClient() || m.IsStreamingServer() {
		return
	}
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule.GetPattern() == nil {
		l.report(m, "rpc %s has no google.api.http option; say its REST path", m.FullName())
		return
	}
	if rule.GetGet() == "" && m.Input().Fields().ByName("idempotency_key") == nil {
		l.report(m, "rpc %s changes something and %s has no idempotency_key", m.FullName(), m.Input().Name())
	}
}
