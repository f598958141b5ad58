package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	sandboxv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/sandbox/v1"
)

func (c *app) sandboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Look after the sandboxes in which tools work", Args: noArgs,
		Long: `With CADRE_SANDBOX_PROVISIONER the tools of sessions work in sandboxes: each session has
one of its own, with a workspace that lasts until the session is deleted. A sandbox is
started when a tool needs it and stopped when nobody has used it for a while
(CADRE_SANDBOX_IDLE, 15m); its workspace stays.`,
	}
	cmd.AddCommand(c.sandboxListCommand(), c.sandboxInspectCommand(), c.sandboxExecCommand(), c.sandboxStopCommand(), c.sandboxGCCommand())
	return cmd
}

func (c *app) sandboxListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "Show the sandboxes that there are", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sandboxes.List(cmd.Context(), connect.NewRequest(&sandboxv1.ListSandboxesRequest{}))
			if err != nil {
				return err
			}
			all := res.Msg.GetSandboxes()
			if c.output == "name" {
				for _, s := range all {
					c.printf("%s\n", sandboxName(s))
				}
				return nil
			}
			return c.show(res.Msg, func() {
				switch {
				case res.Msg.GetDriver() == "":
					c.note("this server has no sandboxes: tools work on its machine (CADRE_SANDBOX_PROVISIONER is not set)")
				case len(all) == 0:
					c.note("no sandboxes")
				default:
					c.sandboxTable(all)
				}
				if res.Msg.GetTruncated() {
					c.note("there are more; `cadre sandbox inspect SESSION` shows any of them")
				}
			})
		},
	}
	c.outputFlag(cmd)
	return cmd
}

// sandboxName is what people call one: its session's id, or scope and id of another's.
func sandboxName(s *sandboxv1.Sandbox) string {
	if s.GetScope() == "session" {
		return s.GetId()
	}
	return s.GetScope() + ":" + s.GetId()
}

func (c *app) sandboxTable(all []*sandboxv1.Sandbox) {
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "SESSION\tLIVENESS\tSTATE\tEPOCH\tIN USE\tIDLE\tIMAGE\tNODE")
	for _, s := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", sandboxName(s), s.GetLiveness(), orDash(s.GetState()), s.GetEpoch(),
			len(s.GetHolders()), age(s.GetIdleSince()), orDash(s.GetImage()), orDash(s.GetNode()))
	}
	_ = w.Flush()
}

func (c *app) sandboxInspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "inspect SESSION", Short: "Show a session's sandbox and who holds it", Args: exactArgs(1, "a session's id"),
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sandboxes.Get(cmd.Context(), connect.NewRequest(&sandboxv1.GetSandboxRequest{Id: args[0]}))
			if err != nil {
				return err
			}
			return c.showSandbox(res.Msg)
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) showSandbox(s *sandboxv1.Sandbox) error {
	if c.output == "name" {
		c.printf("%s\n", sandboxName(s))
		return nil
	}
	return c.show(s, func() {
		w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
		line := func(name, value string) {
			if value != "" {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", name, value)
			}
		}
		line("session", sandboxName(s))
		line("name", s.GetName())
		line("liveness", s.GetLiveness().String())
		line("state", s.GetState())
		line("epoch", fmt.Sprint(s.GetEpoch()))
		line("image", s.GetImage())
		line("workspace", s.GetRoot())
		line("node", s.GetNode())
		line("connected", map[bool]string{true: "yes", false: "no"}[s.GetConnected()])
		if s.GetWarmSince() != nil {
			line("runs since", age(s.GetWarmSince()))
		}
		if s.GetIdleSince() != nil {
			line("idle since", age(s.GetIdleSince()))
		}
		for _, h := range s.GetHolders() {
			line("held by", strings.TrimSpace(h.GetId()+" "+h.GetExecutionId()))
		}
		_ = w.Flush()
	})
}

func (c *app) sandboxExecCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "exec SESSION -- COMMAND [ARG]...", Short: "Run a command in a session's sandbox",
		Long: `Runs a command in the sandbox of a session, in its workspace, and prints what it prints
on both of its streams. A sandbox that does not run is started; it is held until the
command ends, and the command ends with this call. One COMMAND alone is a line for the
shell inside; with further arguments each is taken as it is.

Exit code: the command's.`,
		Example: `  cadre sandbox exec ses_01… -- ls -la
  cadre sandbox exec ses_01… 'git log | head'`,
		ValidArgsFunction: c.completeOne("session"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("%s needs a session's id and a command; see `%s --help`", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			stream, err := cl.sandboxes.Exec(cmd.Context(), connect.NewRequest(&sandboxv1.ExecSandboxRequest{Id: args[0], Command: shellLine(args[1:])}))
			if err != nil {
				return err
			}
			defer func() { _ = stream.Close() }()
			for stream.Receive() {
				m := stream.Msg()
				if m.GetLost() > 0 {
					c.note("[%d bytes of the output were not kept]", m.GetLost())
				}
				_, _ = c.out.Write(m.GetText())
				if e := m.GetExit(); e != nil {
					return commandExit(e)
				}
			}
			if err := stream.Err(); err != nil {
				return err
			}
			return fmt.Errorf("the server ended the call before the command did; it was ended as well")
		},
	}
	return cmd
}

func commandExit(e *sandboxv1.ExecSandboxExit) error {
	if e.GetCode() == 0 {
		return nil
	}
	return exitError{int(e.GetCode()), nil}
}

// shellLine makes one line of a command: as it is when it is one word, else each word quoted.
func shellLine(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

func (c *app) sandboxStopCommand() *cobra.Command {
	req := &sandboxv1.StopSandboxRequest{}
	cmd := &cobra.Command{
		Use: "stop SESSION", Short: "Stop a session's sandbox; its workspace stays", Args: exactArgs(1, "a session's id"),
		Long: `Ends what runs in a session's sandbox. The next tool starts it again, with the same
workspace. One that is in use is stopped with --force alone.`,
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			req.Id, req.IdempotencyKey = args[0], keyOr("")
			res, err := cl.sandboxes.Stop(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return err
			}
			if c.output != "table" {
				return c.showSandbox(res.Msg)
			}
			what := "stopped; its workspace stays"
			if req.GetRemove() {
				what = "removed with its workspace"
			}
			c.printf("sandbox of %s %s\n", args[0], what)
			return nil
		},
	}
	cmd.Flags().BoolVar(&req.Force, "force", false, "also while it is in use")
	cmd.Flags().BoolVar(&req.Remove, "remove", false, "remove its workspace as well, with all that is in it")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) sandboxGCCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gc", Short: "Stop sandboxes that nobody uses and remove those of no session, now", Args: noArgs,
		Long: `Does now what the server does by itself again and again: sandboxes that were idle for
long enough (CADRE_SANDBOX_IDLE) or that are too old (CADRE_SANDBOX_MAX_AGE) are
stopped, and those whose session is gone are removed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sandboxes.Collect(cmd.Context(), connect.NewRequest(&sandboxv1.CollectSandboxesRequest{IdempotencyKey: keyOr("")}))
			if err != nil {
				return err
			}
			m := res.Msg
			if c.output == "name" {
				for _, k := range append(m.GetStopped(), m.GetRemoved()...) {
					c.printf("%s\n", k)
				}
			} else if err := c.show(m, func() { c.collected(m) }); err != nil {
				return err
			}
			if len(m.GetFailed()) > 0 {
				return exitError{exitFailed, nil}
			}
			return nil
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) collected(m *sandboxv1.CollectSandboxesResponse) {
	for _, k := range m.GetStopped() {
		c.printf("stopped %s\n", k)
	}
	for _, k := range m.GetRemoved() {
		c.printf("removed %s\n", k)
	}
	for _, why := range m.GetFailed() {
		c.note("error: %s", why)
	}
	if len(m.GetStopped())+len(m.GetRemoved())+len(m.GetFailed()) == 0 {
		c.note("nothing to collect")
	}
}
