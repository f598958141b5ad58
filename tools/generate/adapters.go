package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strings"
	"text/template"

	"google.golang.org/protobuf/reflect/protoreflect"
)

//go:embed adapters.go.tmpl
var adaptersSource []byte

//go:embed methods.go.tmpl
var methodsSource string

// withoutToken is the method option that marks what anonymous callers may use.
const withoutToken protoreflect.FullName = "cadre.platform.resource.v1.without_token"

// methodLine is one line of the generated list.
type methodLine struct {
	Helper, Request, Response, Procedure, Descriptor string
	Public                                           bool
}

// adapters writes package rpc: the fixed helpers and the list of methods.
func adapters(src *sources, out output) error {
	imports := map[string]string{} // import path to name
	var lines []methodLine
	for _, f := range src.public().own {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				line, err := describeMethod(methods.Get(j), imports)
				if err != nil {
					return err
				}
				lines = append(lines, line)
			}
		}
	}

	type importLine struct{ Name, Path string }
	data := struct {
		Imports []importLine
		Methods []methodLine
	}{Methods: lines}
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		data.Imports = append(data.Imports, importLine{imports[path], path})
	}
	var text bytes.Buffer
	if err := template.Must(template.New("methods").Parse(methodsSource)).Execute(&text, data); err != nil {
		return err
	}
	for name, source := range map[string][]byte{"adapters.go": adaptersSource, "methods.go": text.Bytes()} {
		code, err := format.Source(source)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := out.put("go/rpc/"+name, code); err != nil {
			return err
		}
	}
	return nil
}

// describeMethod returns m's line and adds what it needs to imports.
func describeMethod(m protoreflect.MethodDescriptor, imports map[string]string) (methodLine, error) {
	if m.IsStreamingClient() {
		return methodLine{}, fmt.Errorf("%s: methods that stream from the client have no adapter yet; write one in adapters.go.tmpl", m.FullName())
	}
	service := m.Parent().(protoreflect.ServiceDescriptor)
	pkg, err := goPackageOf(m.ParentFile().Path())
	if err != nil {
		return methodLine{}, err
	}
	imports[pkg.path] = pkg.name
	imports[pkg.path+"/"+pkg.name+"connect"] = pkg.name + "connect"
	request, err := goType(m.Input(), imports)
	if err != nil {
		return methodLine{}, err
	}
	response, err := goType(m.Output(), imports)
	if err != nil {
		return methodLine{}, err
	}
	line := methodLine{
		Helper:    "unary",
		Request:   request,
		Response:  response,
		Procedure: fmt.Sprintf("%sconnect.%s%sProcedure", pkg.name, service.Name(), m.Name()),
		Descriptor: fmt.Sprintf("%s.%s.Services().ByName(%q).Methods().ByName(%q)",
			pkg.name, fileVariable(m.ParentFile().Path()), service.Name(), m.Name()),
		Public: boolOption(m, withoutToken),
	}
	if m.IsStreamingServer() {
		line.Helper = "serverStream"
	}
	return line, nil
}

// goType names the generated Go type of a top-level message of our own.
func goType(m protoreflect.MessageDescriptor, imports map[string]string) (string, error) {
	if _, top := m.Parent().(protoreflect.FileDescriptor); !top {
		return "", fmt.Errorf("%s: requests and responses are top-level messages", m.FullName())
	}
	if !strings.HasPrefix(string(m.FullName()), "cadre.") {
		return "", fmt.Errorf("%s: requests and responses are messages of our own", m.FullName())
	}
	pkg, err := goPackageOf(m.ParentFile().Path())
	if err != nil {
		return "", err
	}
	imports[pkg.path] = pkg.name
	return pkg.name + "." + string(m.Name()), nil
}

// fileVariable is the name that protoc-gen-go gives a file's descriptor.
func fileVariable(path string) string {
	return "File_" + strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(path)
}

// boolOption reads a boolean option of ours by name. This program does not link
// its type, so that it is found among the dynamic ones. Absent, it is false.
func boolOption(d protoreflect.Descriptor, name protoreflect.FullName) bool {
	found := false
	d.Options().ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.FullName() == name {
			found = v.Bool()
		}
		return !found
	})
	return found
}
