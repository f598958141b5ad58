package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/resource"
)

func (c *app) deleteCommand() *cobra.Command {
	var org string
	var files []string
	cmd := &cobra.Command{
		Use: "delete KIND NAME...", Short: "Delete resources", ValidArgsFunction: c.complete("Delete"),
		Example: `  cadre delete agent reviewer editor
  cadre delete -f examples/agents`,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := c.deleteTargets(args, files, org)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			var gone []proto.Message
			failed := c.each(all, func(t target) error {
				m, err := cl.call(cmd.Context(), t.method.Procedure, &resourcev1.DeleteRequest{Ref: t.ref, Org: t.org})
				if err == nil {
					gone = append(gone, m)
				}
				return err
			})
			if err := c.showDeleted(gone); err != nil {
				return err
			}
			return failed
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "delete what these files declare")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) showDeleted(gone []proto.Message) error {
	switch {
	case len(gone) == 0:
		return nil
	case c.output == "table":
		for _, m := range gone {
			c.printf("%s deleted\n", nameOf(m))
		}
		return nil
	case len(gone) == 1:
		return c.show(gone[0], nil)
	}
	return c.showAll(gone)
}

// deleteTargets reads names, or files, the last resource first: what a file
// declares may stand on what it declared before.
func (c *app) deleteTargets(args, files []string, org string) ([]target, error) {
	if len(files) == 0 {
		all, err := targets(args, "Delete", org)
		if err == nil && len(all) == 0 {
			err = usage("cadre delete needs a kind and at least one name, or -f FILE")
		}
		return all, err
	}
	if len(args) > 0 {
		return nil, usage("cadre delete takes names or -f, not both")
	}
	docs, err := c.readDocuments(files)
	if err != nil {
		return nil, err
	}
	var all []target
	for _, d := range slices.Backward(docs) {
		m, ok := methodOf(d.kind, "Delete")
		if !ok {
			return nil, usage("%s:%d: %s cannot be deleted", d.file, d.root.Line, resource.Meta(d.kind).GetPlural())
		}
		all = append(all, target{d.kind, m, slugOf(d.message), resource.Metadata(d.message).GetOrg()})
	}
	return all, nil
}
