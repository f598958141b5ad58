package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Schema is where a database's schema stands.
type Schema struct {
	Store   string       `json:"store"` // sqlite or postgres
	Where   string       `json:"where"`
	Exists  bool         `json:"exists"`  // whether there is a database
	Version int64        `json:"version"` // 0 when there is none
	Release int64        `json:"release"` // the version that this cadre makes
	Pending []SchemaStep `json:"pending"`
	Applied []SchemaStep `json:"applied,omitempty"` // by this call
	Copy    string       `json:"copy,omitempty"`    // of the database as it was before
}

// SchemaStep is one migration.
type SchemaStep struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
}

func (s SchemaStep) String() string { return fmt.Sprintf("v%d %s", s.Version, s.Name) }

func (c *app) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Look at the database's schema, or bring it up to date", Args: noArgs,
		Long: `Works on the database of the data folder, or on the one that CADRE_DATABASE_URL
names, without a server. cadre up does the same at its start: this is for those
who want to look first, or to do it at an hour of their choice.

Each step is a transaction of its own. When one fails, nothing of it is written, its
error says "migrate to vN", and the next try goes on from there. There is no way
back but a backup.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.migrateVerb("status", "Say which version the schema has and what is pending", false,
		"Changes nothing. While a server holds the data folder its database is not opened."))
	cmd.AddCommand(c.migrateVerb("up", "Make the pending steps", true,
		"Makes what `cadre migrate status` shows as pending; a database that is not there yet is made. One in\nthe data folder is copied first, as at a start. Refused while a server holds the folder. Other servers on the same PostgreSQL database must be stopped first."))
	return cmd
}

func (c *app) migrateVerb(name, short string, up bool, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			s, err := c.Migrate(cmd.Context(), dir, up)
			if err != nil {
				return err
			}
			return c.answer(s, []string{fmt.Sprintf("v%d", s.Version)}, func() { c.schema(s) })
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) schema(s Schema) {
	version := fmt.Sprintf("v%d", s.Version)
	if !s.Exists {
		version = "no database yet"
	}
	c.printf("store    %s, %s\nschema   %s; this cadre makes v%d\n", s.Store, s.Where, version, s.Release)
	switch {
	case len(s.Applied) > 0:
		c.printf("applied  %s\n", joinSteps(s.Applied))
		if s.Copy != "" {
			c.printf("copy     %s is the database as it was\n", s.Copy)
		}
	case len(s.Pending) == 0:
		c.printf("pending  nothing\n")
	}
	if len(s.Pending) > 0 {
		c.printf("pending  %s\n         `cadre migrate up` makes these, each in a transaction of its own; so does the next `cadre up`\n", joinSteps(s.Pending))
	}
}

func joinSteps(all []SchemaStep) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}
