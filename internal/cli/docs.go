package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// docsCommand writes the command line's own documentation.
func (c *app) docsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "docs man FOLDER|markdown", Short: "Write the manual pages into a folder, or the reference of commands to standard output",
		Args: cobra.RangeArgs(1, 2), Hidden: true, ValidArgs: []string{"man", "markdown"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case args[0] == "markdown" && len(args) == 1:
				writeReference(c.out, cmd.Root())
				return nil
			case args[0] == "man" && len(args) == 2:
				return manPages(cmd.Root(), args[1])
			}
			return usage("write `cadre docs man FOLDER` or `cadre docs markdown`")
		},
	}
	return cmd
}

// manPages writes a manual page for each command. They have no date, so that the
// same commands give the same bytes.
func manPages(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	never := time.Unix(0, 0).UTC()
	return doc.GenManTree(root, &doc.GenManHeader{Title: "CADRE", Section: "1", Source: "cadre", Manual: "Cadre", Date: &never}, folder)
}

// writeReference writes every command that people see as one page of Markdown.
func writeReference(w io.Writer, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	_, _ = fmt.Fprintf(w, "# Commands\n\n<!-- Written by `cadre docs markdown`. Do not edit. -->\n\n%s\n\n", code("", root.Long))
	_, _ = fmt.Fprintf(w, "## Flags of every command\n\n")
	flagTable(w, root.PersistentFlags())
	for _, cmd := range root.Commands() {
		writeCommand(w, cmd, 2)
	}
}

func writeCommand(w io.Writer, cmd *cobra.Command, level int) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	_, _ = fmt.Fprintf(w, "\n%s %s\n\n%s.\n\n%s\n", strings.Repeat("#", level), cmd.CommandPath(), cmd.Short, code("", cmd.UseLine()))
	if cmd.Long != "" {
		_, _ = fmt.Fprintf(w, "\n%s\n", code("text", cmd.Long))
	}
	if cmd.Example != "" {
		_, _ = fmt.Fprintf(w, "\n%s\n", code("", outdent(cmd.Example)))
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		_, _ = fmt.Fprintln(w)
		flagTable(w, flags)
	}
	for _, below := range cmd.Commands() {
		writeCommand(w, below, level+1)
	}
}

func flagTable(w io.Writer, flags *pflag.FlagSet) {
	_, _ = fmt.Fprint(w, "| flag | meaning | default |\n| --- | --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		byDefault := f.DefValue
		switch byDefault {
		case "", "[]", "false", "0":
			byDefault = ""
		default:
			byDefault = "`" + byDefault + "`"
		}
		_, _ = fmt.Fprintf(w, "| %s | %s | %s |\n", name, strings.ReplaceAll(f.Usage, "|", `\|`), byDefault)
	})
}

func code(language, text string) string {
	return "```" + language + "\n" + strings.TrimSpace(text) + "\n```"
}

// outdent takes the blanks off that every line begins with.
func outdent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}
