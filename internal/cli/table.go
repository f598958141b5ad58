package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cadre-dev/cadre/internal/resource"
)

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

// tables prints resources of several kinds, a table for each run of one kind.
func (c *app) tables(all []proto.Message) {
	for from := 0; from < len(all); {
		k, _ := resource.KindOf(all[from].ProtoReflect().Descriptor())
		to := from + 1
		for to < len(all) && all[to].ProtoReflect().Descriptor() == all[from].ProtoReflect().Descriptor() {
			to++
		}
		if from > 0 {
			c.printf("\n")
		}
		c.table(k, all[from:to])
		from = to
	}
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
