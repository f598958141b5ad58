package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"buf.build/go/protoyaml"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	planv1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/plan/v1"
	subscriptionv1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/subscription/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
)

// document is one resource of a file.
type document struct {
	*source
	root    *yaml.Node
	kind    resource.Kind
	message proto.Message
}

// resourcesIn are the nodes that hold a resource each: the documents that are
// not blank, and the items of one that is a list.
func resourcesIn(parsed []*yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	for _, n := range parsed {
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			n = n.Content[0]
		}
		switch {
		case n.IsZero() || isNull(n):
		case n.Kind == yaml.SequenceNode:
			all = append(all, n.Content...)
		default:
			all = append(all, n)
		}
	}
	return all
}

// decode reads one resource: its kind, then its shape, then its rules. Each is
// judged only when the one before it is sound.
func (s *source) decode(root *yaml.Node) (*document, problems) {
	budget := mostNodes
	root, ok := unaliased(root, &budget)
	if !ok {
		return nil, problems{s.at(root.Line, root.Column, "its aliases make more than %d values of it; write them out, or fewer", mostNodes)}
	}
	d := &document{source: s, root: root}
	kind, wrong := s.kindOf(root)
	if wrong != nil {
		return nil, problems{*wrong}
	}
	d.kind = kind
	var err error
	if d.message, err = newMessage(kind); err != nil {
		return nil, problems{s.at(root.Line, root.Column, "%v", err)}
	}
	shape := shape{source: s}
	shape.message(root, d.message.ProtoReflect().Descriptor(), resource.Meta(kind).GetName())
	if len(shape.found) > 0 {
		return nil, shape.found
	}
	if err := d.fill(); err != nil {
		return nil, problems{s.at(root.Line, root.Column, "%s", firstLine(err))}
	}
	resource.ClearStatus(d.message)
	return d, d.judge()
}

// fill decodes the node into the message. The shape was looked at before.
func (d *document) fill() error {
	text, err := yaml.Marshal(d.root)
	if err != nil {
		return err
	}
	return protoyaml.Unmarshal(text, d.message)
}

// firstLine is an error of the decoder, without the position in the text that it
// was given, which is not the file's.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if _, text, ok := strings.Cut(line, " "); ok && strings.HasPrefix(line, ":") {
		return text
	}
	return line
}

// contractRules are the rules that the server judges by.
var contractRules = sync.OnceValues(pipeline.NewValidator)

// judge checks the contract's rules.
func (d *document) judge() problems {
	rules, err := contractRules()
	if err != nil {
		return problems{d.at(d.root.Line, d.root.Column, "%v", err)}
	}
	if err := rules.Validate(d.message); err != nil {
		return d.broken(fault.From(err))
	}
	return nil
}

// broken gives each violation its place in the file.
func (d *document) broken(f *fault.Fault) problems {
	if len(f.Violations) == 0 {
		return problems{d.at(d.root.Line, d.root.Column, "%s", f.Message)}
	}
	var all problems
	for _, v := range f.Violations {
		n := spot(d.root, v.Field)
		all = append(all, d.at(n.Line, n.Column, "%s: %s (%s)", v.Field, v.Text, v.Rule))
	}
	return all
}

// kindOf reads kind, which says how to read the rest.
func (s *source) kindOf(n *yaml.Node) (resource.Kind, *problem) {
	var names []string
	for _, k := range resource.Kinds() {
		if _, ok := methodOf(k, "Apply"); ok {
			names = append(names, resource.Meta(k).GetName())
		}
	}
	known := strings.Join(names, ", ")
	wrong := func(n *yaml.Node, format string, args ...any) (resource.Kind, *problem) {
		p := s.at(n.Line, n.Column, format, args...)
		return 0, &p
	}
	if n.Kind != yaml.MappingNode {
		return wrong(n, "this is no resource: one begins with apiVersion and kind, such as `kind: Agent`")
	}
	_, v := child(n, "kind")
	if v == nil {
		return wrong(n, "kind is missing: write one of %s", known)
	}
	for _, k := range resource.Kinds() {
		switch {
		case resource.Meta(k).GetName() != v.Value:
		case slices.Contains(names, v.Value), resource.Meta(k).GetCloudOnly(): // what cannot be kept can be judged
			return k, nil
		default:
			return wrong(v, "kind %s cannot be applied: a later release brings it, or nobody declares it. What can be is %s", v.Value, known)
		}
	}
	return wrong(v, "unknown kind %q; the kinds are %s.%s", v.Value, known, near.Hint(v.Value, names))
}

func newMessage(k resource.Kind) (proto.Message, error) {
	switch k { // no service here has these, and files may hold them
	case resourcev1.ResourceKind_plan:
		return &planv1.Plan{}, nil
	case resourcev1.ResourceKind_subscription:
		return &subscriptionv1.Subscription{}, nil
	case resourcev1.ResourceKind_license:
		return &licensev1.License{}, nil
	}
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
