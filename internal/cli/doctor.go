package cli

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
)

func (c *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong and say what to do", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			findings := c.Doctor(cmd.Context(), dir)
			if c.output == "json" {
				data, err := json.MarshalIndent(findings, "", "  ")
				c.printf("%s\n", data)
				return errorIf(findings, err)
			}
			for _, f := range findings {
				mark := "ok  "
				if !f.OK {
					mark = "BAD "
				}
				c.printf("%s %-14s %s\n", mark, f.Check, f.Detail)
				if !f.OK {
					c.printf("     %-14s -> %s\n", "", f.Advice)
				}
			}
			return errorIf(findings, nil)
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func errorIf(findings []Finding, err error) error {
	if err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f Finding) bool { return !f.OK }) {
		return exitError{exitFailed, nil}
	}
	return nil
}

func (c *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if c.output == "json" {
				data, err := json.Marshal(map[string]string{"version": c.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
				c.printf("%s\n", data)
				return err
			}
			c.printf("cadre %s (%s, %s/%s)\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
