package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/id"
)

// runFlags are what run and send share.
type runFlags struct {
	message, model, effort string
	approve                string
	json, detach           bool
	key                    string
	extraFlags
}

func (f *runFlags) add(c *app, cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.message, "message", "m", "", "what to say; - reads it from standard input")
	cmd.Flags().StringVar(&f.model, "model", "", "model to use instead of the agent's, such as scripted:FILE")
	cmd.Flags().StringVar(&f.effort, "effort", "", "how hard the model should think: none, minimal, low, medium, high or max")
	cmd.Flags().StringVar(&f.approve, "approve", "deny", "what becomes of calls that cannot be undone, such as shell commands: auto runs them, deny does not (ask is not built yet)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one event per line as JSON; the same as -o json")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "print the ids and do not wait")
	cmd.Flags().StringVar(&f.key, "idempotency-key", "", "a repeated call with this key makes nothing new (default: a new key)")
	f.extraFlags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("approve", cobra.FixedCompletions([]string{"auto", "deny"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("effort", cobra.FixedCompletions([]string{"none", "minimal", "low", "medium", "high", "max"}, cobra.ShellCompDirectiveNoFileComp))
	c.outputFlag(cmd)
}

// events says whether events are printed as JSON, and refuses forms that a
// stream of them does not have.
func (f *runFlags) events(c *app) (bool, error) {
	switch c.output {
	case "json":
		return true, nil
	case "table":
		return f.json, nil
	}
	return false, usage("-o %s needs --detach: what a turn does is shown as text, or with -o json", c.output)
}

// approval is what --approve says.
func (f *runFlags) approval() (agentexecutionv1.ApprovalMode, error) {
	switch f.approve {
	case "auto":
		return agentexecutionv1.ApprovalMode_auto, nil
	case "deny":
		return agentexecutionv1.ApprovalMode_deny, nil
	case "ask":
		return 0, usage("--approve ask is not built yet: a later release brings it. Say auto, which runs every call, or deny")
	}
	return 0, usage("--approve %q is unknown: say auto or deny", f.approve)
}

// text is the message, read from standard input when it is `-`.
func (c *app) text(f *runFlags) (string, error) {
	text := f.message
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(c.in, maxFile))
		if err != nil {
			return "", fmt.Errorf("standard input cannot be read: %w", err)
		}
		if text = string(data); strings.TrimSpace(text) == "" {
			return "", usage("standard input, which -m - reads, is empty")
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", usage("say something with -m TEXT, or -m - to read it from standard input")
	}
	if !utf8.ValidString(text) {
		return "", usage("the message is no UTF-8 text: convert it first, for instance with iconv")
	}
	return text, nil
}

func (c *app) runCommand() *cobra.Command {
	var f runFlags
	var folder, org string
	var limits sessionv1.SessionLimits
	cmd := &cobra.Command{
		Use: "run AGENT -m TEXT", Short: "Run an agent in a new session and show what it does", Args: exactArgs(1, "an agent"),
		Long: `Makes a session, gives it the message, and shows the turn until it ends.
Ctrl-C cancels the turn; a second one leaves without waiting.

Exit codes: 0 completed, 1 failed, 3 cancelled, 4 waiting for something named,
5 cut short by a limit or an empty answer.`,
		Example: `  cadre run reviewer -m "Review the diff in this folder" -w .
  cadre run reviewer -m - -w . --model scripted:review.yaml < task.md
  cadre run builder -m "Make the tests pass" -w . --approve auto
  cadre run reviewer -m "Look around" --detach -o json`,
		ValidArgsFunction: c.completeOne("agent"),
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
			req := &sessionv1.RunAgentRequest{
				OutputSchema: more.schema, Record: more.record,
				Agent: args[0], Org: org, Message: text, Model: absoluteModel(f.model, "."), Effort: f.effort, Approve: approve,
				IdempotencyKey: keyOr(f.key),
			}
			if err := runLimits(cmd, &limits, req); err != nil {
				return err
			}
			if folder != "" {
				abs, err := filepath.Abs(folder)
				if err != nil {
					return err
				}
				req.Workspace = &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: abs}}}
			}
			return c.run(cmd, &f, req, more)
		},
	}
	f.add(c, cmd)
	cmd.Flags().StringVarP(&folder, "workspace", "w", "", "folder that the agent works in")
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	cmd.Flags().Int64Var(&limits.MaxTokens, "max-tokens", 0, "most tokens that the session may use (default: no bound of its own)")
	cmd.Flags().Float64Var(&limits.MaxUsd, "max-usd", 0, "most US dollars that the session may cost (default: no bound of its own)")
	return cmd
}

// runLimits puts the session's limits into a request, when the flags name some.
func runLimits(cmd *cobra.Command, limits *sessionv1.SessionLimits, req *sessionv1.RunAgentRequest) error {
	tokens, usd := cmd.Flags().Changed("max-tokens"), cmd.Flags().Changed("max-usd")
	if tokens && limits.GetMaxTokens() <= 0 || usd && !(limits.GetMaxUsd() > 0) {
		return usage("--max-tokens and --max-usd must be above 0; leave them out for no bound")
	}
	if tokens || usd {
		req.Limits = limits
	}
	return nil
}

func (c *app) run(cmd *cobra.Command, f *runFlags, req *sessionv1.RunAgentRequest, more extras) error {
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
	if err := f.upload(cmd.Context(), cl, req.GetOrg(), &more); err != nil {
		return err
	}
	req.Attachments = more.attachments
	res, err := cl.sessions.RunAgent(cmd.Context(), connect.NewRequest(req))
	if err != nil {
		return err
	}
	session, execution := res.Msg.GetSession(), res.Msg.GetExecution()
	ids := []string{session.GetMetadata().GetId(), execution.GetMetadata().GetId()}
	if f.detach {
		return c.showAccepted(res.Msg, ids)
	}
	if !events {
		c.note("session %s", ids[0])
		if w := session.GetSpec().GetWorkspace().GetLocal().GetPath(); w != "" {
			c.note("workspace %s (local: the agent works in the folder itself)", w)
		}
	}
	w := watch{session: ids[0], execution: ids[1], json: events, only: f.answerOnly(), quiet: f.quiet}
	if f.key != "" {
		if w, err = cl.fromTheStart(cmd.Context(), w); err != nil {
			return err
		}
	}
	return c.follow(cmd.Context(), cl, w, f, req.GetOrg())
}

// answerOnly says whether standard output gets the answer alone.
func (f *runFlags) answerOnly() bool { return f.quiet || f.schema != "" }

// follow watches a turn, and writes what it made where the flags say so, however it
// ended.
func (c *app) follow(ctx context.Context, cl *client, w watch, f *runFlags, org string) error {
	err := c.watch(ctx, cl, w)
	if f.download == "" {
		return err
	}
	if again, cerr := c.connect(); cerr == nil {
		cl = again // the server may have been started anew meanwhile
	}
	if derr := c.downloadAll(ctx, cl, "execution_id = "+w.execution, org, f.download); derr != nil {
		c.complain(derr)
		if err == nil {
			return exitError{exitFailed, nil}
		}
	}
	return err
}

// keyOr makes a key when none was given, so that a call that the transport
// repeats is made once.
func keyOr(key string) string {
	if key != "" {
		return key
	}
	return id.New("key")
}
