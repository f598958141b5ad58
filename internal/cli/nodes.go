package cli

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// Nodes are what the command line does with the servers that share a database.
type Nodes struct {
	List   func(ctx context.Context, dataDir string) ([]Node, error)
	Forget func(ctx context.Context, dataDir, id string) (Node, error)
}

// Node is a server that shares a database.
type Node struct {
	ID     string        `json:"id"`
	Host   string        `json:"host,omitempty"`
	Engine string        `json:"engine,omitempty"` // that it runs sessions on
	Alive  bool          `json:"alive"`
	Silent time.Duration `json:"-"`     // since it was heard; zero when it never was
	Turns  []string      `json:"turns"` // executions that it had at work
}

func (c *app) nodesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "nodes", Short: "List the servers that share a PostgreSQL database", Args: noArgs,
		Long: `Shows who works on the database of CADRE_DATABASE_URL: each server's id (it lies in
node.id of its data folder), its host, when it was heard, and how many turns are at
work on it. No server is needed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			all, err := c.Nodes.List(cmd.Context(), dir)
			if err != nil {
				return err
			}
			names := make([]string, len(all))
			for i, n := range all {
				names[i] = n.ID
			}
			return c.answer(all, names, func() { c.nodes(all) })
		},
	}
	c.outputFlag(cmd)
	cmd.AddCommand(c.forgetCommand())
	return cmd
}

func (c *app) forgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "forget ID", Short: "Say that a server is gone for good", Args: exactArgs(1, "a server's id"),
		Long: `A turn that was at work on a server that died waits for it, since only there can be
seen that its commands have ended. When the machine never comes back, this gives its
turns to the others: an edit is looked at and made once, a command that had begun is
outcome_unknown and is not run again.

Be sure that the machine is off. A server that is heard is refused, but one that
only lost its network may still run a command.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			n, err := c.Nodes.Forget(cmd.Context(), dir, args[0])
			if err != nil {
				return err
			}
			return c.answer(n, []string{n.ID}, func() {
				c.printf("forgot server %s; turns that go to the others: %d\n", n.ID, len(n.Turns))
			})
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) nodes(all []Node) {
	w := tabwriter.NewWriter(c.out, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tHOST\tSTATE\tHEARD\tTURNS\tENGINE")
	for _, n := range all {
		state, heard := "silent", "-"
		if n.Alive {
			state = "alive"
		}
		if n.Silent > 0 {
			heard = n.Silent.Round(time.Second).String()
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, orDash(n.Host), state, heard, strconv.Itoa(len(n.Turns)), orDash(n.Engine))
	}
	_ = w.Flush()
}
