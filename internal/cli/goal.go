package cli

import (
	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

func (c *app) goalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "goal", Short: "Give a session a goal, and see how it stands", Args: noArgs,
		Long: `A goal is what a session works towards. Each turn that begins while it is active is
told of it, and the agent can say that it is met. It is paused when the allowance of
the organization or of a member is used up; set it again to go on.`,
	}
	cmd.AddCommand(c.goalSetCommand(), c.goalGetCommand())
	return cmd
}

func (c *app) goalSetCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "set SESSION -m TEXT", Short: "Give a session a goal, or another one, and make it active", Args: exactArgs(1, "a session's id"),
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(&f)
			if err != nil {
				return err
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sessions.SetGoal(cmd.Context(), connect.NewRequest(&sessionv1.SetGoalRequest{SessionId: args[0], Text: text, IdempotencyKey: keyOr(f.key)}))
			if err != nil {
				return err
			}
			return c.showGoal(res.Msg)
		},
	}
	cmd.Flags().StringVarP(&f.message, "message", "m", "", "the goal; - reads it from standard input")
	cmd.Flags().StringVar(&f.key, "idempotency-key", "", "a repeated call with this key does nothing more (default: a new key)")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) goalGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get SESSION", Short: "Show a session's goal and how it stands", Args: exactArgs(1, "a session's id"),
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			res, err := cl.sessions.GetGoal(cmd.Context(), connect.NewRequest(&sessionv1.GetGoalRequest{SessionId: args[0]}))
			if err != nil {
				return err
			}
			return c.showGoal(res.Msg)
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) showGoal(g *sessionv1.Goal) error {
	if c.output == "name" {
		c.printf("%s\n", g.GetSessionId())
		return nil
	}
	return c.show(g, func() {
		c.printf("%s\n", visible(g.GetText()))
		status := join(g.GetStatus().String(), g.GetPausedReason(), oneLine(g.GetRationale(), 300), oneLine(g.GetEvidence(), 300))
		c.printf("%s (version %d)\n", status, g.GetVersion())
	})
}
