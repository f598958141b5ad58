package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/resource"
)

func (c *app) applyCommand() *cobra.Command {
	var files []string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Create or change resources from files", Args: noArgs,
		Long: "Reads YAML or JSON resources from files, folders or standard input (-f -) and brings the server to what they say.\nAll files are checked before the first resource is applied.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			docs, err := c.readDocuments(files)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			if !dryRun {
				// A dry run first, so that a resource that the server refuses keeps all of them out.
				for _, d := range docs {
					if _, err := c.applyOne(cmd.Context(), cl, d, true); err != nil && !missingOrg(err, docs) {
						return err
					}
				}
			}
			for _, d := range docs {
				answer, err := c.applyOne(cmd.Context(), cl, d, dryRun)
				if err != nil {
					return err
				}
				if err := c.showApplied(answer, dryRun); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "file, folder, or - for standard input; may be repeated")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change and change nothing")
	c.outputFlag(cmd)
	return cmd
}

// missingOrg says whether a dry run failed only because an organization that
// the same files declare does not exist yet.
func missingOrg(err error, docs []document) bool {
	info, _ := details(wireOf(err))
	if info.GetMetadata()["kind"] != "organization" || info.GetReason() != "NOT_FOUND" {
		return false
	}
	for _, d := range docs {
		md := resource.Metadata(d.message)
		if d.kind == resourcev1.ResourceKind_organization && (md.GetSlug() == info.GetMetadata()["ref"] || resource.Slug(md.GetName()) == info.GetMetadata()["ref"]) {
			return true
		}
	}
	return false
}

func (c *app) applyOne(ctx context.Context, cl *client, d document, dryRun bool) (proto.Message, error) {
	m, ok := methodOf(d.kind, "Apply")
	if !ok {
		return nil, usage("%s:%d: kind %s cannot be applied: not built yet", d.file, d.line, resource.Meta(d.kind).GetName())
	}
	in := m.New().ProtoReflect()
	fields := in.Descriptor().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); fd.Message() != nil && fd.Message().FullName() == d.message.ProtoReflect().Descriptor().FullName() {
			in.Set(fd, protoreflect.ValueOfMessage(d.message.ProtoReflect()))
		}
	}
	in.Set(fields.ByName("dry_run"), protoreflect.ValueOfBool(dryRun))
	answer, err := cl.call(ctx, m.Procedure, in.Interface())
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", d.file, d.line, err)
	}
	return answer, nil
}

// showApplied prints `agent/reviewer created`, and in a dry run what would change.
func (c *app) showApplied(answer proto.Message, dryRun bool) error {
	r := answer.ProtoReflect()
	fields := r.Descriptor().Fields()
	outcome := resourcev1.ApplyOutcome(r.Get(fields.ByName("outcome")).Enum())
	var res proto.Message
	r.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() != nil && !fd.IsList() {
			res = v.Message().Interface()
		}
		return true
	})
	return c.show(answerFor(c.output, answer, res), func() {
		suffix := ""
		if dryRun {
			suffix = " (dry run)"
		}
		c.printf("%s %s%s\n", nameOf(res), outcome, suffix)
		if !dryRun {
			return
		}
		changes := r.Get(fields.ByName("changes")).List()
		for i := range changes.Len() {
			c.printf("  %s\n", changes.Get(i).String())
		}
	})
}

func answerFor(output string, answer, res proto.Message) proto.Message {
	if output == "name" {
		return res
	}
	return answer
}

func (c *app) validateCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "validate -f FILE", Short: "Check resource files without a server", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			docs, err := c.readDocuments(files)
			if err != nil {
				return err
			}
			for _, d := range docs {
				c.printf("%s:%d: %s is sound\n", d.file, d.line, resource.Meta(d.kind).GetName())
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "file, folder, or - for standard input; may be repeated")
	return cmd
}
