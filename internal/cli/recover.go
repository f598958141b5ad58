package cli

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1/agentexecutionv1connect"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

func (c *app) recoverCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "recover SESSION|EXECUTION", Short: "Let a waiting or failed turn go on, and show it", Args: exactArgs(1, "a session's or execution's id"),
		Long: `Continues the same turn after it stopped: one that waits because the outcome of
a call is unknown, one that waits for a timer, or one that failed. The unknown
call is not made again; the model is told that its outcome is unknown.`,
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.recover(cmd, &f, args[0])
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one event per line as JSON; the same as -o json")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "print the id and do not wait")
	cmd.Flags().StringVar(&f.key, "idempotency-key", "", "a repeated call with this key does nothing more (default: a new key)")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) recover(cmd *cobra.Command, f *runFlags, id string) error {
	events := false
	if !f.detach {
		var err error
		if events, err = f.events(c); err != nil {
			return err
		}
	}
	cl, err := c.connect()
	if err != nil {
		return err
	}
	before, err := cl.sessionOf(cmd.Context(), id)
	if err != nil {
		return err
	}
	res, err := cl.sessions.Recover(cmd.Context(), connect.NewRequest(&sessionv1.RecoverRequest{Id: id, IdempotencyKey: keyOr(f.key)}))
	if err != nil {
		return err
	}
	execution := res.Msg.GetExecution()
	if f.detach {
		return c.showAccepted(res.Msg, []string{execution.GetMetadata().GetId()})
	}
	w := watch{
		session: execution.GetSpec().GetSessionId(), execution: execution.GetMetadata().GetId(), after: before.GetStatus().GetLastSeq(), json: events,
	}
	if f.key != "" {
		if w, err = cl.fromTheStart(cmd.Context(), w); err != nil {
			return err
		}
	}
	return c.watch(cmd.Context(), cl, w)
}

// fromTheStart makes a watch of a turn that may be over, because its call was made
// before: it shows the turn from its beginning, and nothing ends it that lies behind.
func (cl *client) fromTheStart(ctx context.Context, w watch) (watch, error) {
	now, err := cl.session(ctx, w.session)
	w.after, w.head = 0, now.GetStatus().GetLastSeq()
	return w, err
}

// sessionOf is a session, by its id or that of one of its executions.
func (cl *client) sessionOf(ctx context.Context, id string) (*sessionv1.Session, error) {
	if strings.HasPrefix(id, "aex_") {
		x, err := agentexecutionv1connect.NewAgentExecutionServiceClient(cl.http, cl.url, cl.opts...).Get(ctx, connect.NewRequest(&resourcev1.GetRequest{Ref: id}))
		if err != nil {
			return nil, err
		}
		id = x.Msg.GetSpec().GetSessionId()
	}
	return cl.session(ctx, id)
}
