package cli

import (
	"context"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

func (c *app) sendCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "send SESSION -m TEXT", Short: "Say something in a session and show the turn that answers it", Args: exactArgs(1, "a session's id"),
		Long: `Gives a session one more message and shows the turn that answers it. While
another turn runs, it waits for its own.`,
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(&f)
			if err != nil {
				return err
			}
			approve, err := f.approval()
			if err != nil {
				return err
			}
			if err := f.given(cmd, f.detach); err != nil {
				return err
			}
			more, err := f.check()
			if err != nil {
				return err
			}
			return c.send(cmd, &f, more, &sessionv1.SendMessageRequest{
				OutputSchema: more.schema, Record: more.record,
				SessionId: args[0], Message: text, Model: absoluteModel(f.model, "."), Effort: f.effort, Approve: approve, IdempotencyKey: keyOr(f.key),
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *app) send(cmd *cobra.Command, f *runFlags, more extras, req *sessionv1.SendMessageRequest) error {
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
	before, err := cl.session(cmd.Context(), req.GetSessionId())
	if err != nil {
		return err
	}
	if err := f.upload(cmd.Context(), cl, before.GetMetadata().GetOrg(), &more); err != nil {
		return err
	}
	req.Attachments = more.attachments
	res, err := cl.sessions.SendMessage(cmd.Context(), connect.NewRequest(req))
	if err != nil {
		return err
	}
	execution := res.Msg.GetExecution()
	if f.detach {
		return c.showAccepted(res.Msg, []string{execution.GetMetadata().GetId()})
	}
	if phase := before.GetStatus().GetPhase(); phase == sessionv1.SessionPhase_running || phase == sessionv1.SessionPhase_cancelling {
		c.note("queued: another turn of the session is at work")
	}
	w := watch{session: req.GetSessionId(), execution: execution.GetMetadata().GetId(), after: before.GetStatus().GetLastSeq(), json: events, only: f.answerOnly(), quiet: f.quiet}
	if f.key != "" {
		if w, err = cl.fromTheStart(cmd.Context(), w); err != nil {
			return err
		}
	}
	return c.follow(cmd.Context(), cl, w, f, before.GetMetadata().GetOrg())
}

// showAccepted prints what was accepted: the ids, one per line, or the answer.
func (c *app) showAccepted(answer proto.Message, ids []string) error {
	plain := func() {
		for _, id := range ids {
			c.printf("%s\n", id)
		}
	}
	if c.output == "name" {
		plain()
		return nil
	}
	return c.show(answer, plain)
}

func (c *app) attachCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "attach SESSION", Short: "Show a session from its beginning until its work ends", Args: exactArgs(1, "a session's id"),
		Long: `Shows what happened in a session and what happens now, until none of its turns
is open. Ctrl-C leaves and cancels nothing. The exit code is that of the turn
that ended last.`,
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			events, err := (&runFlags{json: asJSON}).events(c)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			t, err := cl.sessions.GetTranscript(cmd.Context(), connect.NewRequest(&sessionv1.GetTranscriptRequest{SessionId: args[0]}))
			if err != nil {
				return err
			}
			if len(t.Msg.GetTurns()) == 0 {
				c.note("session %s has no turn yet; say something with `cadre send %s -m TEXT`", args[0], args[0])
				return nil
			}
			return c.watch(cmd.Context(), cl, watch{session: args[0], head: t.Msg.GetLastSeq(), json: events})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one event per line as JSON; the same as -o json")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) cancelCommand() *cobra.Command {
	var reason, key string
	cmd := &cobra.Command{
		Use: "cancel SESSION|EXECUTION", Short: "End a session's work, or one turn", Args: exactArgs(1, "a session's or execution's id"),
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sessions.Cancel(cmd.Context(), connect.NewRequest(&sessionv1.CancelRequest{Id: args[0], Reason: reason, IdempotencyKey: keyOr(key)}))
			if err != nil {
				return err
			}
			return c.showCancelled(res.Msg)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who look later")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "a repeated call with this key does nothing more (default: a new key)")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) showCancelled(answer *sessionv1.CancelResponse) error {
	if c.output == "name" {
		for _, x := range answer.GetExecutions() {
			c.printf("%s\n", nameOf(x))
		}
		return nil
	}
	return c.show(answer, func() {
		if len(answer.GetExecutions()) == 0 {
			c.printf("nothing was left to cancel\n")
		}
		for _, x := range answer.GetExecutions() {
			c.printf("%s %s\n", x.GetMetadata().GetId(), x.GetStatus().GetPhase())
		}
	})
}

func (cl *client) session(ctx context.Context, id string) (*sessionv1.Session, error) {
	res, err := cl.sessions.Get(ctx, connect.NewRequest(&resourcev1.GetRequest{Ref: id}))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}
