package cli

import (
	"io"
	"os"
	"path/filepath"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/cli/chat"
)

// chatFlags are what a conversation is begun with.
type chatFlags struct {
	session, folder, org   string
	model, effort, approve string
}

func (c *app) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use: "chat AGENT", Short: "Talk with an agent in the terminal", Args: atMostAnAgent,
		Long: `Shows a conversation and a box to write in. Text appears as it comes, tool calls
are one line each, and a message that is sent while a turn runs is queued. /help
lists the keys and commands. Leaving cancels no work: --session goes on with a
session, also one that another command began.

Needs a terminal; in scripts, use cadre run and cadre send.`,
		Example: `  cadre chat reviewer -w .
  cadre chat builder -w . --approve auto --model anthropic/<id>
  cadre chat --session ses_01…`,
		ValidArgsFunction: c.completeOne("agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent := ""
			if len(args) == 1 {
				agent = args[0]
			}
			return c.chat(cmd, &f, agent)
		},
	}
	cmd.Flags().StringVar(&f.session, "session", "", "go on with this session")
	cmd.Flags().StringVarP(&f.folder, "workspace", "w", "", "folder that the agent works in")
	cmd.Flags().StringVar(&f.model, "model", "", "model to use instead of the agent's")
	cmd.Flags().StringVar(&f.effort, "effort", "", "how hard the model should think: none, minimal, low, medium, high or max")
	cmd.Flags().StringVar(&f.approve, "approve", "deny", "what becomes of calls that cannot be undone, such as shell commands: auto runs them, deny does not")
	cmd.Flags().StringVar(&f.org, "org", "", "organization (default: default)")
	_ = cmd.RegisterFlagCompletionFunc("session", c.completeOne("session"))
	return cmd
}

func atMostAnAgent(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("cadre chat takes one agent, and %q is more; what you have to say is typed there", args[1])
	}
	return nil
}

func (c *app) chat(cmd *cobra.Command, f *chatFlags, agent string) error {
	approve, err := f.check(agent)
	if err != nil {
		return err
	}
	if err := terminal(c.in, c.out, os.Getenv("TERM")); err != nil {
		return err
	}
	cl, err := c.connect()
	if err != nil {
		return err
	}
	s := &chatServer{c: c, cl: cl, org: f.org, effort: f.effort, approve: approve}
	o := chat.Options{
		Server: s, Agent: agent, Folder: f.folder, Session: f.session, Model: absoluteModel(f.model, "."),
		Plain: os.Getenv("NO_COLOR") != "", NewKey: func() string { return keyOr("") }, Cost: costWords, Subject: subject,
	}
	if f.session != "" {
		known, err := cl.session(cmd.Context(), f.session)
		if err != nil {
			return err
		}
		o.Session, o.Agent, s.org = known.GetMetadata().GetId(), known.GetSpec().GetAgent(), known.GetMetadata().GetOrg()
	} else if err := c.knows(cmd, cl, agent, f.org); err != nil {
		return err
	}
	left, err := chat.Run(cmd.Context(), o, c.in, c.out, os.Environ())
	if left.Unsent > 0 {
		c.note("%s may not have been sent: no server answered", count(left.Unsent, "message"))
	}
	if left.Session != "" {
		c.note("the session goes on; come back with: cadre chat --session %s%s", left.Session, c.dataFlag())
	}
	return err
}

// check reads what needs no server, and makes the folder's path absolute.
func (f *chatFlags) check(agent string) (agentexecutionv1.ApprovalMode, error) {
	approve, err := (&runFlags{approve: f.approve}).approval()
	switch {
	case err != nil:
		return 0, err
	case agent == "" && f.session == "":
		return 0, usage("cadre chat needs an agent, or a session to go on with: cadre chat AGENT, cadre chat --session ID")
	case agent != "" && f.session != "":
		return 0, usage("a session has its agent already: leave %q or --session out", agent)
	case f.session != "" && (f.folder != "" || f.org != ""):
		return 0, usage("a session has its folder and its organization already: leave -w and --org out")
	}
	if f.folder != "" {
		if f.folder, err = filepath.Abs(f.folder); err != nil {
			return 0, err
		}
	}
	return approve, nil
}

// knows asks for the agent, so that a wrong name is told before anything is typed.
func (c *app) knows(cmd *cobra.Command, cl *client, agent, org string) error {
	all, err := targets([]string{"agent", agent}, "Get", org)
	if err != nil {
		return err
	}
	_, err = all[0].fetch(cmd.Context(), cl)
	return err
}

// terminal refuses what is no terminal, or one that cannot move its cursor.
func terminal(in io.Reader, out io.Writer, name string) error {
	const instead = "use `cadre run` and `cadre send` instead"
	for _, side := range []struct {
		file any
		name string
	}{{in, "standard input"}, {out, "standard output"}} {
		file, ok := side.file.(*os.File)
		if !ok || !term.IsTerminal(file.Fd()) {
			return usage("cadre chat needs a terminal, and %s is none: %s", side.name, instead)
		}
	}
	if name == "dumb" {
		return usage("cadre chat needs a terminal that can move its cursor, and TERM is dumb: %s", instead)
	}
	return nil
}
