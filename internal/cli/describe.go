package cli

import "github.com/spf13/cobra"

func (c *app) describeCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use: "describe KIND NAME...", Short: "Show everything about resources", ValidArgsFunction: c.complete("Get"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := targets(args, "Get", org)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return usage("cadre describe needs a kind and a name, such as cadre describe agent reviewer")
			}
			if c.output == "table" {
				c.output = "yaml"
			}
			return c.get(cmd.Context(), all)
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	c.outputFlag(cmd)
	return cmd
}
