package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (c *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong and say what to do", Args: noArgs,
		Long: "Looks at the data folder, this machine and the server, and says what to do about each finding.\nIt changes nothing. The exit code is 1 when something is wrong.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			findings := c.Doctor(cmd.Context(), dir)
			var bad []string
			for _, f := range findings {
				if !f.OK {
					bad = append(bad, f.Check)
				}
			}
			if err := c.answer(findings, bad, func() { c.findings(findings) }); err != nil {
				return err
			}
			if len(bad) > 0 {
				return exitError{exitFailed, nil}
			}
			return nil
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) findings(all []Finding) {
	for _, f := range all {
		mark := "ok  "
		if !f.OK {
			mark = "BAD "
		}
		c.printf("%s %-14s %s\n", mark, f.Check, f.Detail)
		if !f.OK {
			c.printf("     %-14s -> %s\n", "", f.Advice)
		}
	}
}

// versionFacts are what `version` tells.
type versionFacts struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionFacts{c.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return c.answer(v, []string{v.Version}, func() { c.printf("cadre %s (%s, %s)\n", v.Version, v.Go, v.Platform) })
		},
	}
	c.outputFlag(cmd)
	return cmd
}
