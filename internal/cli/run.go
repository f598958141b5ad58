package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/id"
)

// runFlags are what run and send share.
type runFlags struct {
	message, model, effort string
	json, detach           bool
	key                    string
}

func (f *runFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.message, "message", "m", "", "what to say; - reads it from standard input")
	cmd.Flags().StringVar(&f.model, "model", "", "model to use instead of the agent's, such as scripted:FILE")
	cmd.Flags().StringVar(&f.effort, "effort", "", "how hard the model should think: none, minimal, low, medium, high or max")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one event per line as JSON")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "print the ids and do not wait")
	cmd.Flags().StringVar(&f.key, "idempotency-key", "", "a repeated call with this key makes nothing new (default: a new key)")
}

// text is the message, read from standard input when it is `-`.
func (c *app) text(f *runFlags) (string, error) {
	if f.message != "-" {
		if strings.TrimSpace(f.message) == "" {
			return "", usage("say something with -m TEXT, or -m - to read it from standard input")
		}
		return f.message, nil
	}
	data, err := io.ReadAll(c.in)
	return string(data), err
}

func (c *app) runCommand() *cobra.Command {
	var f runFlags
	var folder, org string
	cmd := &cobra.Command{
		Use: "run AGENT -m TEXT", Short: "Run an agent in a new session and show what it does", Args: exactArgs(1, "an agent"),
		Long: "Makes a session, gives it the message, and shows the turn until it ends.\nCtrl-C cancels the turn; a second one leaves it alone.",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(&f)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			req := &sessionv1.RunAgentRequest{
				Agent: args[0], Org: org, Message: text, Model: absoluteModel(f.model, "."), Effort: f.effort, IdempotencyKey: keyOr(f.key),
			}
			if folder != "" {
				abs, err := filepath.Abs(folder)
				if err != nil {
					return err
				}
				req.Workspace = &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: abs}}}
			}
			res, err := cl.sessions.RunAgent(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			session, execution := res.Msg.GetSession(), res.Msg.GetExecution()
			if f.detach {
				c.printf("%s\n%s\n", session.GetMetadata().GetId(), execution.GetMetadata().GetId())
				return nil
			}
			if !f.json {
				c.note("session %s", session.GetMetadata().GetId())
				if w := session.GetSpec().GetWorkspace().GetLocal().GetPath(); w != "" {
					c.note("workspace %s (local: the agent works in the folder itself)", w)
				}
			}
			return c.watch(cmd.Context(), cl, watch{session: session.GetMetadata().GetId(), execution: execution.GetMetadata().GetId(), json: f.json})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVarP(&folder, "workspace", "w", "", "folder that the agent works in")
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	return cmd
}

// keyOr makes a key when none was given, so that a call that the transport
// repeats is made once.
func keyOr(key string) string {
	if key != "" {
		return key
	}
	return id.New("key")
}

func (c *app) sendCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "send SESSION -m TEXT", Short: "Say something in a session and show the turn that answers it", Args: exactArgs(1, "a session's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(&f)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			after, err := cl.lastSeq(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			res, err := cl.sessions.SendMessage(cmd.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{
				SessionId: args[0], Message: text, Model: absoluteModel(f.model, "."), Effort: f.effort, IdempotencyKey: keyOr(f.key),
			}))
			if err != nil {
				return err
			}
			execution := res.Msg.GetExecution().GetMetadata().GetId()
			if f.detach {
				c.printf("%s\n", execution)
				return nil
			}
			return c.watch(cmd.Context(), cl, watch{session: args[0], execution: execution, after: after, json: f.json})
		},
	}
	f.add(cmd)
	return cmd
}

func (c *app) attachCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "attach SESSION", Short: "Show a session from its beginning until its work ends", Args: exactArgs(1, "a session's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			last, err := cl.lastExecution(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if last == "" {
				c.note("session %s has no turn yet; say something with `cadre send %s -m TEXT`", args[0], args[0])
				return nil
			}
			return c.watch(cmd.Context(), cl, watch{session: args[0], execution: last, json: asJSON, all: true, leave: true})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one event per line as JSON")
	return cmd
}

func (c *app) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "cancel SESSION|EXECUTION", Short: "End a session's work, or one turn", Args: exactArgs(1, "a session's or execution's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sessions.Cancel(cmd.Context(), connect.NewRequest(&sessionv1.CancelRequest{Id: args[0], Reason: reason, IdempotencyKey: keyOr("")}))
			if err != nil {
				return err
			}
			return c.show(res.Msg, func() {
				if len(res.Msg.GetExecutions()) == 0 {
					c.printf("nothing was left to cancel\n")
				}
				for _, x := range res.Msg.GetExecutions() {
					c.printf("%s %s\n", x.GetMetadata().GetId(), x.GetStatus().GetPhase())
				}
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who look later")
	c.outputFlag(cmd)
	return cmd
}

// interrupts counts Ctrl-C: the first calls once, the second ends the context.
func interrupts(ctx context.Context, once func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
				if n > 0 {
					cancel(errLeft)
					return
				}
				go once()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
