package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"buf.build/go/protoyaml"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cadre-dev/cadre/internal/resource"
)

// outputFlag adds -o to a command.
func (c *app) outputFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&c.output, "output", "o", "table", "table, json, yaml or name")
	prev := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch c.output {
		case "table", "json", "yaml", "name":
		default:
			return usage("-o %s is not known; write table, json, yaml or name", c.output)
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

// prettyJSON prints stable JSON: protojson varies its blanks on purpose.
func prettyJSON(m proto.Message) ([]byte, error) {
	data, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.MarshalIndent(v, "", "  ")
}

// compactJSON is one line of stable JSON.
func compactJSON(m proto.Message) string {
	data, err := prettyJSON(m)
	if err != nil {
		return "{}"
	}
	var b strings.Builder
	var v any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if d.Decode(&v) == nil {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v)
	}
	return strings.TrimSpace(b.String())
}

// nameOf is `kind/slug`, or `kind/id` for what has no slug.
func nameOf(m proto.Message) string {
	md := resource.Metadata(m)
	k, _ := resource.KindOf(m.ProtoReflect().Descriptor())
	name := md.GetSlug()
	if name == "" {
		name = md.GetId()
	}
	return strings.ToLower(resource.Meta(k).GetName()) + "/" + name
}

// columns are what a table shows of each kind, beside name and age.
var columns = map[string][][2]string{
	"agent":           {{"MODEL", "spec.model"}, {"DESCRIPTION", "spec.description"}},
	"organization":    {{"DESCRIPTION", "spec.description"}},
	"session":         {{"AGENT", "spec.agent"}, {"PHASE", "status.phase"}, {"WORKSPACE", "spec.workspace.local.path"}},
	"agent_execution": {{"SESSION", "spec.session_id"}, {"PHASE", "status.phase"}, {"MODEL", "spec.model"}},
	"artifact":        {{"SESSION", "spec.session_id"}, {"SIZE", "spec.size"}, {"NAME", "metadata.name"}},
}

// table prints resources of one kind.
func (c *app) table(k resource.Kind, all []proto.Message) {
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', 0)
	extra := columns[resource.MustKindName(k)]
	head := []string{"NAME"}
	for _, col := range extra {
		head = append(head, col[0])
	}
	_, _ = fmt.Fprintln(w, strings.Join(append(head, "AGE"), "\t"))
	for _, m := range all {
		md := resource.Metadata(m)
		cells := []string{md.GetSlug()}
		if cells[0] == "" {
			cells[0] = md.GetId()
		}
		for _, col := range extra {
			cells = append(cells, oneLine(resource.FieldValue(m, col[1]), 60))
		}
		_, _ = fmt.Fprintln(w, strings.Join(append(cells, age(md.GetAudit().GetCreated().GetAt())), "\t"))
	}
	_ = w.Flush()
}

// oneLine shows the beginning of a text in one line, without control characters.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func age(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	d := time.Since(t.AsTime())
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
