package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
		Long: `Reads YAML or JSON resources from files, folders or standard input (-f -) and
brings the server to what they say. All files are checked before the first
resource is applied; what is wrong is shown with file, line and column.`,
		Example: `  cadre apply -f examples/agents
  cadre apply -f agent.yaml --dry-run
  cadre get agent reviewer -o yaml | sed s/gpt-4/gpt-5/ | cadre apply -f -`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			docs, err := c.readDocuments(files)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			return c.apply(cmd.Context(), cl, docs, dryRun)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "file, folder, or - for standard input; may be repeated")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change and change nothing")
	c.outputFlag(cmd)
	return cmd
}

// apply asks the server about every resource before it changes the first, so
// that one that is refused keeps all of them out.
func (c *app) apply(ctx context.Context, cl *client, docs []*document, dryRun bool) error {
	answers := make([]proto.Message, len(docs))
	for i, d := range docs {
		var err error
		if answers[i], err = c.applyOne(ctx, cl, d, true); err != nil && (dryRun || !missingOrg(err, docs)) {
			return err
		}
	}
	for i, d := range docs {
		if !dryRun {
			var err error
			if answers[i], err = c.applyOne(ctx, cl, d, false); err != nil {
				return err
			}
		}
		if err := c.showApplied(answers[i], dryRun); err != nil {
			return err
		}
	}
	return nil
}

// missingOrg says whether a dry run failed only because an organization that
// the same files declare does not exist yet.
func missingOrg(err error, docs []*document) bool {
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

func (c *app) applyOne(ctx context.Context, cl *client, d *document, dryRun bool) (proto.Message, error) {
	m, ok := methodOf(d.kind, "Apply")
	if resource.Meta(d.kind).GetCloudOnly() {
		return nil, elsewhere{d.kind}
	}
	if !ok {
		return nil, usage("%s:%d: kind %s cannot be applied: not built yet", d.file, d.root.Line, resource.Meta(d.kind).GetName())
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
		return nil, d.refused(err)
	}
	return answer, nil
}

// refused gives what the server found wrong its place in the file.
func (d *document) refused(err error) error {
	wire := wireOf(err)
	_, bad := details(wire)
	var found problems
	for _, v := range bad.GetFieldViolations() {
		n := spot(d.root, strings.TrimPrefix(v.GetField(), resource.MustKindName(d.kind)+"."))
		text := fmt.Sprintf("%s: %s (%s)", v.GetField(), v.GetDescription(), v.GetReason())
		if len(bad.GetFieldViolations()) == 1 {
			text = wire.Message() // it says more
		}
		found = append(found, d.at(n.Line, n.Column, "%s", text))
	}
	var gone *unanswered
	switch {
	case errors.As(err, &gone):
		return err
	case len(found) == 0:
		return fmt.Errorf("%s:%d: %w", d.file, d.root.Line, err)
	}
	return exitError{exitOf(err), found}
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
