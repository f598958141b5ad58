package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/resource"
)

// sound is a resource that a file declares.
type sound struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (c *app) validateCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "validate -f FILE", Short: "Check resource files without a server", Args: noArgs,
		Long: "Checks that files are sound: their YAML, their fields and the contract's rules. What only a server knows,\nsuch as the tools that it has, is not looked at; `cadre apply --dry-run` does that.",
		RunE: func(*cobra.Command, []string) error {
			docs, err := c.readDocuments(files)
			if err != nil {
				return err
			}
			all, names := make([]sound, len(docs)), make([]string, len(docs))
			for i, d := range docs {
				kind := resource.Meta(d.kind).GetName()
				names[i] = strings.ToLower(kind) + "/" + slugOf(d.message)
				all[i] = sound{d.file, d.root.Line, kind, slugOf(d.message)}
			}
			return c.answer(all, names, func() {
				for i, d := range all {
					c.printf("%s:%d: %s is sound\n", d.File, d.Line, names[i])
				}
			})
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "file, folder, or - for standard input; may be repeated")
	c.outputFlag(cmd)
	return cmd
}
