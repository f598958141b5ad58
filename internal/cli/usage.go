package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/near"
)

// planned are the commands of the contract that later releases bring.
var planned = []string{
	"reset", "runner", "machine", "diff", "edit", "tag", "steer", "pause", "resume", "terminate",
	"approvals", "skill", "workflow", "schedule", "auth", "apikey", "context", "mcp",
	"units",
}

func notBuilt(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Not built yet", Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usage("cadre %s is not built yet: a later release brings it. `cadre help` lists what there is", name)
		},
	}
}

// noCommand says that there is no such command, and which one may be meant.
func noCommand(root *cobra.Command, word string) error {
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return usage("cadre has no command %q.%s See `cadre help`", word, near.Hint(word, names))
}

// flagError explains a flag that a command does not take. At the root the flag
// belongs to a command that does not exist, and that is what is wrong.
func flagError(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() {
		for _, word := range cmd.Flags().Args() {
			return noCommand(cmd, word)
		}
	}
	return usage("%v; see `%s --help`", err, cmd.CommandPath())
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s needs %s; usage: %s", cmd.CommandPath(), what, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.Flags().Lookup("filename") != nil:
		return usage("%s takes its files with -f: %s -f %s", cmd.CommandPath(), cmd.CommandPath(), args[0])
	}
	return usage("%s takes no arguments, and %q is one", cmd.CommandPath(), args[0])
}
