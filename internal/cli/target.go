package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/gen/go/rpc"
	"github.com/cadre-dev/cadre/internal/resource"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// target is one resource that the command line names, and the method that it is for.
type target struct {
	kind   resource.Kind
	method rpc.Method
	ref    string
	org    string
}

// targets reads `KIND NAME...` or `KIND/NAME...`.
func targets(args []string, method, org string) ([]target, error) {
	var all []target
	add := func(word, ref string) error {
		k, m, err := kindArg(word, method)
		all = append(all, target{k, m, ref, org})
		return err
	}
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		for _, ref := range args[1:] {
			if err := add(args[0], ref); err != nil {
				return nil, err
			}
		}
		if len(args) == 1 {
			_, _, err := kindArg(args[0], method)
			return nil, err
		}
		return all, nil
	}
	for _, arg := range args {
		word, ref, ok := strings.Cut(arg, "/")
		if !ok || ref == "" {
			return nil, usage("%q names no resource: write KIND NAME or KIND/NAME, such as agent/reviewer", arg)
		}
		if err := add(word, ref); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fetch reads a target.
func (t target) fetch(ctx context.Context, cl *client) (proto.Message, error) {
	return cl.call(ctx, t.method.Procedure, &resourcev1.GetRequest{Ref: t.ref, Org: t.org})
}

// each does something with every target. What fails is told and does not keep
// the others from it; the answer is the exit code of the last failure.
func (c *app) each(all []target, do func(target) error) error {
	var failed error
	for _, t := range all {
		if err := do(t); err != nil {
			if len(all) == 1 {
				return err
			}
			c.complain(err)
			failed = exitError{exitOf(err), nil}
		}
	}
	return failed
}

// complete offers kinds, then names of the first one's resources.
func (c *app) complete(method string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return kindNames(method), cobra.ShellCompDirectiveNoFileComp
		}
		return c.names(cmd.Context(), args[0]), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne offers the resources of a kind as the only argument.
func (c *app) completeOne(kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.names(cmd.Context(), kind), cobra.ShellCompDirectiveNoFileComp
	}
}

// mostNames is how many names a shell is offered.
const mostNames = 100

// names are the newest resources of a kind; none when no server answers.
func (c *app) names(ctx context.Context, kind string) []string {
	_, m, err := kindArg(kind, "List")
	if err != nil {
		return nil
	}
	cl, err := c.connect()
	if err != nil {
		return nil
	}
	page, err := cl.call(ctx, m.Procedure, &resourcev1.ListRequest{PageSize: mostNames})
	if err != nil {
		return nil
	}
	var names []string
	items, _ := pageOf(page)
	for _, m := range items {
		_, name, _ := strings.Cut(nameOf(m), "/")
		names = append(names, name)
	}
	return names
}
