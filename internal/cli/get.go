package cli

import (
	"context"
	"encoding/json"
	"strings"

	"buf.build/go/protoyaml"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/resource"
)

// listFlags are the flags of every listing command.
type listFlags struct {
	org, filter, order string
	limit              int32
}

func (f *listFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.org, "org", "", "organization (default: default)")
	cmd.Flags().StringVar(&f.filter, "filter", "", `comparisons joined by AND, such as 'labels.team = "core"'`)
	cmd.Flags().StringVar(&f.order, "order-by", "", "fields, each optionally followed by desc (default: created_at desc)")
	cmd.Flags().Int32Var(&f.limit, "limit", 0, "show at most this many (default: all)")
}

func (c *app) getCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "get KIND [NAME...]", Short: "Show resources by name, or all of a kind",
		Example: `  cadre get agents
  cadre get agent reviewer -o yaml
  cadre get agent/reviewer session/ses_01…
  cadre get executions --filter 'phase = failed' --limit 10`,
		ValidArgsFunction: c.complete("Get"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("cadre get needs a kind and optionally names; the kinds are %s", strings.Join(kindNames("Get"), ", "))
			}
			all, err := targets(args, "Get", f.org)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return c.list(cmd.Context(), args[0], f)
			}
			return c.get(cmd.Context(), all)
		},
	}
	f.add(cmd)
	c.outputFlag(cmd)
	return cmd
}

func (c *app) listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list KIND", Short: "Show all resources of a kind", Args: exactArgs(1, "a kind"), ValidArgsFunction: c.complete("List"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.list(cmd.Context(), args[0], f) },
	}
	f.add(cmd)
	c.outputFlag(cmd)
	return cmd
}

func (c *app) alias(use, short, kind string) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context(), kind, f) },
	}
	f.add(cmd)
	c.outputFlag(cmd)
	return cmd
}

func (c *app) sessionsCommand() *cobra.Command {
	return c.alias("sessions", "Show the sessions", "session")
}

func (c *app) executionsCommand() *cobra.Command {
	return c.alias("executions", "Show the turns", "agentexecution")
}

// get shows resources that are named. Those of one kind share a table.
func (c *app) get(ctx context.Context, all []target) error {
	cl, err := c.connect()
	if err != nil {
		return err
	}
	var found []proto.Message
	failed := c.each(all, func(t target) error {
		m, err := t.fetch(ctx, cl)
		if err == nil {
			found = append(found, m)
		}
		return err
	})
	defer c.noteStalled(found)
	switch {
	case len(found) == 0:
		return failed
	case len(all) == 1:
		err = c.show(found[0], func() { c.table(all[0].kind, found) })
	default:
		err = c.showAll(found)
	}
	if err != nil {
		return err
	}
	return failed
}

func (c *app) list(ctx context.Context, kindWord string, f listFlags) error {
	k, m, err := kindArg(kindWord, "List")
	if err != nil {
		return err
	}
	if f.limit < 0 {
		return usage("--limit %d means nothing: write how many to show at most, or leave it out for all", f.limit)
	}
	cl, err := c.connect()
	if err != nil {
		return err
	}
	var all []proto.Message
	req := &resourcev1.ListRequest{Org: f.org, Filter: f.filter, OrderBy: f.order, PageSize: 500}
	if f.limit > 0 && f.limit < req.PageSize {
		req.PageSize = f.limit
	}
	for {
		page, err := cl.call(ctx, m.Procedure, req)
		if err != nil {
			return err
		}
		items, next := pageOf(page)
		all = append(all, items...)
		if f.limit > 0 && len(all) >= int(f.limit) {
			all = all[:f.limit]
			next = ""
		}
		if next == "" {
			if len(all) == 0 && c.output == "table" {
				c.note("no %s", resource.Meta(k).GetPlural())
				return nil
			}
			defer c.noteStalled(all)
			return c.showAll(all)
		}
		req.PageToken = next
	}
}

func pageOf(page proto.Message) (items []proto.Message, next string) {
	page.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				items = append(items, v.List().Get(i).Message().Interface())
			}
		case fd.Name() == "next_page_token":
			next = v.String()
		}
		return true
	})
	return items, next
}

// showAll prints many resources: as one JSON list, YAML documents, names, or a
// table per kind.
func (c *app) showAll(all []proto.Message) error {
	switch c.output {
	case "json":
		list := make([]json.RawMessage, len(all))
		for i, m := range all {
			list[i] = json.RawMessage(compactJSON(m))
		}
		data, err := json.MarshalIndent(list, "", "  ")
		c.printf("%s\n", data)
		return err
	case "yaml":
		for i, m := range all {
			if i > 0 {
				c.printf("---\n")
			}
			data, err := protoyaml.Marshal(m)
			if err != nil {
				return err
			}
			c.printf("%s", data)
		}
	case "name":
		for _, m := range all {
			c.printf("%s\n", nameOf(m))
		}
	default:
		c.tables(all)
	}
	return nil
}
