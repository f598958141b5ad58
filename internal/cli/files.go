package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"buf.build/go/protovalidate"
	"buf.build/go/protoyaml"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
)

// document is one resource of a file.
type document struct {
	file    string
	line    int
	kind    resource.Kind
	message proto.Message
}

// maxFile is the largest resource file that is read, in bytes.
const maxFile = 4 << 20

// readDocuments reads every resource of files, folders and `-`. A fault in any
// of them is answered for all, with file, line and column, so that nothing is
// applied from a file that is not sound.
func (c *app) readDocuments(paths []string) ([]document, error) {
	if len(paths) == 0 {
		return nil, usage("name at least one file or folder with -f, or - for standard input")
	}
	var all []document
	var faults []string
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return nil, usage("%v", err)
		}
		for _, file := range files {
			docs, errs := c.readFile(file)
			all = append(all, docs...)
			faults = append(faults, errs...)
		}
	}
	if len(faults) > 0 {
		return nil, usage("%s", strings.Join(faults, "\n"))
	}
	if len(all) == 0 {
		return nil, usage("there is no resource in %s", strings.Join(paths, ", "))
	}
	return all, nil
}

// expand lists the resource files of a folder, or the file itself.
func expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, reasonOf(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(p)) {
			files = append(files, p)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no .yaml, .yml or .json file", path)
	}
	return files, err
}

func reasonOf(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (c *app) readFile(file string) ([]document, []string) {
	data, name, err := c.readAll(file)
	if err != nil {
		return nil, []string{fmt.Sprintf("%s: %s", name, reasonOf(err))}
	}
	var docs []document
	var faults []string
	for _, part := range split(string(data)) {
		doc, err := decode(name, part)
		if err != nil {
			faults = append(faults, strings.TrimRight(err.Error(), "\n"))
			continue
		}
		if doc != nil {
			localize(doc.message, file)
			docs = append(docs, *doc)
		}
	}
	return docs, faults
}

func (c *app) readAll(file string) ([]byte, string, error) {
	if file == "-" {
		data, err := io.ReadAll(io.LimitReader(c.in, maxFile+1))
		return data, "standard input", tooLarge(data, err)
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxFile {
		return nil, file, tooLarge(make([]byte, maxFile+1), nil)
	}
	data, err := os.ReadFile(file)
	return data, file, err
}

func tooLarge(data []byte, err error) error {
	if err == nil && len(data) > maxFile {
		return fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return err
}

// part is one document's text and the lines before it.
type part struct {
	text string
	line int // 0-based line on which it begins
}

// split cuts a file at lines that are `---`.
func split(text string) []part {
	var parts []part
	start, from := 0, 0
	lines := strings.SplitAfter(text, "\n")
	offset := 0
	for i, line := range lines {
		bare := strings.TrimRight(line, " \t\r\n")
		if bare == "---" || strings.HasPrefix(line, "--- ") {
			parts = append(parts, part{text[from:offset], start})
			start, from = i+1, offset+len(line)
		}
		offset += len(line)
	}
	return append(parts, part{text[from:], start})
}

// decode reads one document. A blank one is nil.
func decode(file string, p part) (*document, error) {
	var node yaml.Node
	text := strings.Repeat("\n", p.line) + p.text // so that lines count from the file's beginning
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		return nil, fmt.Errorf("%s:%s", file, brokenYAML(err))
	}
	if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
		return nil, nil
	}
	doc := &document{file: file, line: node.Content[0].Line}
	kind, err := kindOf(file, node.Content[0])
	if err != nil {
		return nil, err
	}
	doc.kind = kind
	doc.message, err = newMessage(kind)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, doc.line, err)
	}
	if err := textFields(file, node.Content[0], doc.message.ProtoReflect().Descriptor()); err != nil {
		return nil, err
	}
	if err := (protoyaml.UnmarshalOptions{Path: file}).Unmarshal([]byte(text), doc.message); err != nil {
		return nil, errors.New(hinted(err.Error()))
	}
	resource.ClearStatus(doc.message)
	if err := (protoyaml.UnmarshalOptions{Path: file, Validator: validator{}}).Unmarshal([]byte(text), doc.message.ProtoReflect().New().Interface()); err != nil {
		return nil, errors.New(hinted(err.Error()))
	}
	return doc, nil
}

// validator judges a document by the contract's rules.
type validator struct{}

// Validate answers protovalidate's error, which the decoder gives a position.
func (validator) Validate(m proto.Message) error {
	resource.ClearStatus(m)
	return protovalidate.Validate(m)
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// brokenYAML puts the line of a syntax error where lines stand: `12: what`.
func brokenYAML(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		return text[m[2]:m[3]] + ":1 " + text[m[1]:] + " (this is no YAML: look at the indentation and quotes around this line)"
	}
	return "1:1 " + text
}

// kindOf reads api_version and kind, which say how to read the rest.
func kindOf(file string, n *yaml.Node) (resource.Kind, error) {
	if n.Kind != yaml.MappingNode {
		return 0, fmt.Errorf("%s:%d:%d a resource is a mapping that begins with apiVersion and kind", file, n.Line, n.Column)
	}
	var names []string
	for _, k := range resource.Kinds() {
		if _, ok := methodOf(k, "Apply"); ok {
			names = append(names, resource.Meta(k).GetName())
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "kind" {
			continue
		}
		v := n.Content[i+1]
		for _, k := range resource.Kinds() {
			if resource.Meta(k).GetName() != v.Value {
				continue
			}
			if !slices.Contains(names, v.Value) {
				return 0, fmt.Errorf("%s:%d:%d kind %s cannot be applied: not built yet; what can be is %s", file, v.Line, v.Column, v.Value, strings.Join(names, ", "))
			}
			return k, nil
		}
		return 0, fmt.Errorf("%s:%d:%d unknown kind %q; the kinds are %s.%s", file, v.Line, v.Column, v.Value, strings.Join(names, ", "), near.Hint(v.Value, names))
	}
	return 0, fmt.Errorf("%s:%d:%d kind is missing; write one of %s", file, n.Line, n.Column, strings.Join(names, ", "))
}

func newMessage(k resource.Kind) (proto.Message, error) {
	m, ok := methodOf(k, "Get")
	if !ok {
		return nil, fmt.Errorf("%s is not built yet", resource.Meta(k).GetName())
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(m.Descriptor.Output().FullName())
	if err != nil {
		return nil, err
	}
	return t.New().Interface(), nil
}

// textFields refuses numbers, booleans and the like where the contract has a
// string: `name: 1.10` would silently become another text.
func textFields(file string, n *yaml.Node, d protoreflect.MessageDescriptor) error {
	if n.Kind != yaml.MappingNode {
		return nil // the decoder says what is expected
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		fd := fieldOf(d, n.Content[i].Value)
		if fd == nil {
			continue
		}
		if err := stringField(file, n.Content[i+1], fd); err != nil {
			return err
		}
	}
	return nil
}

func stringField(file string, v *yaml.Node, fd protoreflect.FieldDescriptor) error {
	switch {
	case fd.IsMap() && v.Kind == yaml.MappingNode:
		for i := 1; i < len(v.Content); i += 2 {
			if err := stringField(file, v.Content[i], fd.MapValue()); err != nil {
				return err
			}
		}
	case fd.IsList() && v.Kind == yaml.SequenceNode:
		for _, item := range v.Content {
			if err := element(file, item, fd); err != nil {
				return err
			}
		}
	case !fd.IsMap() && !fd.IsList():
		return element(file, v, fd)
	}
	return nil
}

func element(file string, v *yaml.Node, fd protoreflect.FieldDescriptor) error {
	if fd.Message() != nil {
		return textFields(file, v, fd.Message())
	}
	wrong := v.Kind == yaml.ScalarNode && slices.Contains([]string{"!!int", "!!float", "!!bool", "!!timestamp"}, v.Tag)
	if fd.Kind() == protoreflect.StringKind && wrong {
		return fmt.Errorf("%s:%d:%d %s is text, and %s is read as %s: put it in quotes, \"%s\"", file, v.Line, v.Column, fd.Name(), v.Value, strings.TrimPrefix(v.Tag, "!!"), v.Value)
	}
	return nil
}

func fieldOf(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := d.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return d.Fields().ByTextName(name)
}

var unknownField = regexp.MustCompile(`unknown (?:field|enum value) "([^"]*)", expected one of \[([^\]]*)\]`)

// hinted adds what was probably meant.
func hinted(text string) string {
	return unknownField.ReplaceAllStringFunc(text, func(found string) string {
		m := unknownField.FindStringSubmatch(found)
		return found + "." + near.Hint(resource.SnakeCase(m[1]), strings.Fields(m[2]))
	})
}

// localize makes a script's path in a file relative to that file.
func localize(m proto.Message, file string) {
	a, ok := m.(*agentv1.Agent)
	if !ok || a.GetSpec() == nil {
		return
	}
	dir := "."
	if file != "-" {
		dir = filepath.Dir(file)
	}
	a.Spec.Model = absoluteModel(a.Spec.Model, dir)
}

// absoluteModel makes the file of `scripted:FILE` and `replay:FILE` absolute,
// since the server may work in another folder.
func absoluteModel(name, dir string) string {
	for _, prefix := range []string{"scripted:", "replay:"} {
		path, ok := strings.CutPrefix(name, prefix)
		if !ok || path == "" || filepath.IsAbs(path) {
			continue
		}
		if abs, err := filepath.Abs(filepath.Join(dir, path)); err == nil {
			return prefix + abs
		}
	}
	return name
}
