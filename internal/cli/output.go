package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"buf.build/go/protoyaml"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
)

var outputs = []string{"table", "json", "yaml", "name"}

// outputFlag adds -o to a command.
func (c *app) outputFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&c.output, "output", "o", "table", "table, json, yaml or name")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	prev := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch c.output {
		case "table", "json", "yaml", "name":
		default:
			return usage("-o %s is not known; write table, json, yaml or name.%s", c.output, near.Hint(c.output, outputs))
		}
		if prev != nil {
			return prev(cmd, args)
		}
		return nil
	}
}

// show prints one message in the chosen form; table is what a person sees.
func (c *app) show(m proto.Message, table func()) error {
	switch c.output {
	case "json":
		text, err := prettyJSON(m)
		c.printf("%s\n", text)
		return err
	case "yaml":
		data, err := protoyaml.Marshal(m)
		c.printf("%s", data)
		return err
	case "name":
		c.printf("%s\n", nameOf(m))
		return nil
	}
	table()
	return nil
}

// answer prints what is no resource: value as JSON or YAML, the names that stand
// for it, or the table that a person sees.
func (c *app) answer(value any, names []string, table func()) error {
	switch c.output {
	case "json":
		data, err := json.MarshalIndent(value, "", "  ")
		c.printf("%s\n", data)
		return err
	case "yaml":
		return c.yaml(value)
	case "name":
		for _, name := range names {
			c.printf("%s\n", name)
		}
		return nil
	}
	table()
	return nil
}

// yaml prints a value under the names that its JSON has.
func (c *app) yaml(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil { // JSON is YAML, and a node keeps the order
		return err
	}
	plain(&node)
	text, err := yaml.Marshal(&node)
	c.printf("%s", text)
	return err
}

// plain takes JSON's braces and needless quotes off a node.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}

// prettyJSON prints stable JSON: protojson varies its blanks on purpose.
func prettyJSON(m proto.Message) ([]byte, error) {
	data, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, data, "", "  ")
	return out.Bytes(), err
}

// compactJSON is one line of stable JSON.
func compactJSON(m proto.Message) string {
	data, err := protojson.Marshal(m)
	if err != nil {
		return "{}"
	}
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return "{}"
	}
	return out.String()
}

// slugOf is a resource's slug, the one that its name will give it, or its id.
func slugOf(m proto.Message) string {
	md := resource.Metadata(m)
	for _, name := range []string{md.GetSlug(), resource.Slug(md.GetName()), md.GetId()} {
		if name != "" {
			return name
		}
	}
	return ""
}

// nameOf is `kind/slug`, or `kind/id` for what has no slug.
func nameOf(m proto.Message) string {
	md := resource.Metadata(m)
	k, ok := resource.KindOf(m.ProtoReflect().Descriptor())
	if !ok {
		return string(m.ProtoReflect().Descriptor().Name())
	}
	name := md.GetSlug()
	if name == "" {
		name = md.GetId()
	}
	return strings.ToLower(resource.Meta(k).GetName()) + "/" + name
}
