package cli

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"errors"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/resource"

	"buf.build/go/protoyaml"
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
		Use: "get KIND [NAME]", Short: "Show one resource, or all of a kind",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("cadre get needs a kind and optionally a name; the kinds are %s", strings.Join(kindNames("Get"), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind, name, ok := strings.Cut(args[0], "/"); ok && len(args) == 1 {
				args = []string{kind, name}
			}
			if len(args) == 1 {
				return c.list(cmd.Context(), args[0], f)
			}
			return c.get(cmd.Context(), args[0], args[1], f.org)
		},
	}
	f.add(cmd)
	c.outputFlag(cmd)
	return cmd
}

func (c *app) listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list KIND", Short: "Show all resources of a kind", Args: exactArgs(1, "a kind"),
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

func (c *app) fetch(ctx context.Context, kindWord, ref, org string) (resource.Kind, proto.Message, error) {
	k, m, err := kindArg(kindWord, "Get")
	if err != nil {
		return k, nil, err
	}
	cl, err := c.connect()
	if err != nil {
		return k, nil, err
	}
	res, err := cl.call(ctx, m.Procedure, &resourcev1.GetRequest{Ref: ref, Org: org})
	return k, res, err
}

func (c *app) get(ctx context.Context, kindWord, ref, org string) error {
	k, res, err := c.fetch(ctx, kindWord, ref, org)
	if err != nil {
		return err
	}
	return c.show(res, func() { c.table(k, []proto.Message{res}) })
}

func (c *app) list(ctx context.Context, kindWord string, f listFlags) error {
	k, m, err := kindArg(kindWord, "List")
	if err != nil {
		return err
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
			return c.showAll(k, all)
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

// showAll prints many resources: as one JSON list, YAML documents, names or a table.
func (c *app) showAll(k resource.Kind, all []proto.Message) error {
	switch c.output {
	case "json":
		lines := make([]string, len(all))
		for i, m := range all {
			text, err := prettyJSON(m)
			if err != nil {
				return err
			}
			lines[i] = string(text)
		}
		c.printf("[%s]\n", strings.Join(lines, ","))
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
		if len(all) == 0 {
			c.note("no %s", resource.Meta(k).GetPlural())
			return nil
		}
		c.table(k, all)
	}
	return nil
}

func (c *app) describeCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use: "describe KIND NAME", Short: "Show everything about one resource", Args: exactArgs(2, "a kind and a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, res, err := c.fetch(cmd.Context(), args[0], args[1], org)
			if err != nil {
				return err
			}
			return c.show(res, func() {
				if data, err := protoyaml.Marshal(res); err == nil {
					c.printf("%s", data)
				}
			})
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) deleteCommand() *cobra.Command {
	var org string
	var files []string
	cmd := &cobra.Command{
		Use: "delete KIND NAME...", Short: "Delete resources",
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := c.deleteTargets(args, files, org)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			for _, t := range targets {
				res, err := cl.call(cmd.Context(), t.procedure, &resourcev1.DeleteRequest{Ref: t.ref, Org: t.org})
				if err != nil {
					return err
				}
				c.printf("%s deleted\n", nameOf(res))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "delete what these files declare")
	return cmd
}

type deleteTarget struct{ procedure, ref, org string }

func (c *app) deleteTargets(args, files []string, org string) ([]deleteTarget, error) {
	var all []deleteTarget
	if len(files) > 0 {
		docs, err := c.readDocuments(files)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			m, _ := methodOf(d.kind, "Delete")
			md := resource.Metadata(d.message)
			slug := md.GetSlug()
			if slug == "" {
				slug = resource.Slug(md.GetName())
			}
			all = append(all, deleteTarget{m.Procedure, slug, md.GetOrg()})
		}
		return all, nil
	}
	if kind, name, ok := strings.Cut(strings.Join(args[:min(1, len(args))], ""), "/"); ok && len(args) == 1 {
		args = []string{kind, name}
	}
	if len(args) < 2 {
		return nil, usage("cadre delete needs a kind and at least one name, or -f")
	}
	_, m, err := kindArg(args[0], "Delete")
	if err != nil {
		return nil, err
	}
	for _, ref := range args[1:] {
		all = append(all, deleteTarget{m.Procedure, ref, org})
	}
	return all, nil
}

// wireOf is the server's error inside err, or an empty one.
func wireOf(err error) *connect.Error {
	var wire *connect.Error
	if errors.As(err, &wire) {
		return wire
	}
	return connect.NewError(connect.CodeUnknown, err)
}
