package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/backup"
)

// Backups is what the assembly does for the commands backup and restore.
type Backups struct {
	// Make writes a backup of the data folder to the file out. dump says how the
	// database itself is saved when it does not lie in the data folder, "" when it does.
	Make func(ctx context.Context, dataDir, out string) (m backup.Manifest, dump string, err error)
	// Restore brings a backup into the data folder; force sets a database aside.
	Restore func(ctx context.Context, dataDir, file string, force bool) (backup.Restored, error)
}

// backupFacts are what the commands tell of a backup.
type backupFacts struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	backup.Manifest
	Dump string `json:"dump,omitempty"` // the command that saves the database itself
}

func (c *app) backupCommand() *cobra.Command {
	var out string
	var quiet bool
	cmd := &cobra.Command{
		Use: "backup", Short: "Save the data folder in one file, also while the server runs", Args: noArgs,
		Long: `Writes the database, the artifacts that it refers to and models.json into one
compressed file, while the server runs or not. Nothing waits for it. The file is
there whole or not at all, readable for its owner alone.

It holds no key and no token, only their fingerprints: keep digest.key and
operator.token elsewhere. The database of a server with CADRE_DATABASE_URL is
not in it; the command that saves it is printed.`,
		Example: `  cadre backup
  cadre backup --out /backups/cadre-$(date +%F).tar.gz
  cadre backup verify /backups/cadre-2026-11-30.tar.gz`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.makeBackup(cmd, out, quiet) },
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write, which must not exist yet (default cadre-backup-TIME.tar.gz in this folder)")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but what went wrong")
	_ = cmd.MarkFlagFilename("out", "tar.gz")
	c.outputFlag(cmd)
	verify := &cobra.Command{
		Use: "verify FILE", Short: "Read a backup through and compare all digests", Args: exactArgs(1, "a backup's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			m, err := backup.Verify(ctx, args[0])
			if err != nil {
				return err
			}
			return c.showBackup(args[0], m, "", "is whole")
		},
	}
	c.outputFlag(verify)
	cmd.AddCommand(verify)
	return cmd
}

// interruptible ends with Ctrl-C, so that what was begun is removed.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

func (c *app) makeBackup(cmd *cobra.Command, out string, quiet bool) error {
	if cmd.Flags().Changed("out") && out == "" {
		return usage("--out is empty: is a variable unset that it was to hold?")
	}
	dir, err := c.dataDir()
	if err != nil {
		return err
	}
	if out == "" {
		out = "cadre-backup-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	m, dump, err := c.Backups.Make(ctx, dir, out)
	if err != nil {
		return err
	}
	if dump != "" {
		c.note("the database is not in this file, which holds the artifacts alone; save it before each backup with\n  %s", dump)
	}
	if quiet {
		c.noteLost(m)
		return nil
	}
	return c.showBackup(out, m, dump, "was written")
}

func (c *app) showBackup(file string, m backup.Manifest, dump, done string) error {
	c.noteLost(m)
	facts := backupFacts{File: file, Manifest: m, Dump: dump}
	if info, err := os.Stat(file); err == nil {
		facts.Bytes = info.Size()
	}
	return c.answer(facts, []string{file}, func() {
		c.printf("%s %s: %s\n", file, done, mebibytes(facts.Bytes))
		c.printf("  %s, made by cadre %s at %s\n", holds(m), m.Cadre, m.CreatedAt.UTC().Format(time.RFC3339))
	})
}

// holds says in words what a backup has.
func holds(m backup.Manifest) string {
	database := "no database"
	for _, f := range m.Members {
		if f.Name == "database" {
			database = fmt.Sprintf("the %s database with schema v%d (%s)", m.Store, m.Schema, mebibytes(f.Size))
		}
	}
	artifacts := fmt.Sprintf("%d artifacts", m.Artifacts())
	if m.Artifacts() == 1 {
		artifacts = "1 artifact"
	}
	return database + " and " + artifacts
}

func (c *app) noteLost(m backup.Manifest) {
	for _, sum := range m.Lost {
		c.note("warning: the bytes of the artifact with the digest %s were gone or damaged; the backup is without them", sum)
	}
}

func mebibytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// restoreFacts are what restore tells.
type restoreFacts struct {
	Data    string   `json:"data"`
	Aside   string   `json:"aside,omitempty"`
	Missing []string `json:"missingKeys,omitempty"`
	Differ  []string `json:"otherKeys,omitempty"`
	backup.Manifest
}

func (c *app) restoreCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Bring a backup back into a data folder", Args: exactArgs(1, "a backup's file"),
		Long: `Restores what ` + "`cadre backup`" + ` wrote, after all digests were compared. The server
must not run. A database that the folder has is kept: the command refuses, or
with --force sets it aside in a folder of its own, and deletes nothing.

Turns that were at work when the backup was made go on at the next start. What
happened after the backup is not known any more: a command may have run, a file
may have changed.`,
		Example: `  cadre restore cadre-backup-20261130T221500Z.tar.gz --data ./restored
  cadre down && cadre restore backup.tar.gz --force && cadre up -d`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			r, err := c.Backups.Restore(ctx, dir, args[0], force)
			if err != nil {
				return err
			}
			return c.showRestored(dir, r)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "set a database aside that the folder has")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) showRestored(dir string, r backup.Restored) error {
	c.noteLost(r.Manifest)
	if len(r.Missing) > 0 {
		c.note("warning: %s of the backup's installation is not in %s: copy it from there, or the next start makes a new one and calls that are repeated with an idempotency key from before are refused", strings.Join(r.Missing, ", "), dir)
	}
	if len(r.Differ) > 0 {
		c.note("warning: %s in %s is another one than when the backup was made", strings.Join(r.Differ, ", "), dir)
	}
	facts := restoreFacts{dir, r.Aside, r.Missing, r.Differ, r.Manifest}
	return c.answer(facts, []string{dir}, func() {
		c.printf("%s has %s, as of %s\n", dir, holds(r.Manifest), r.CreatedAt.UTC().Format(time.RFC3339))
		if r.Aside != "" {
			c.printf("what it replaced is in %s\n", r.Aside)
		}
		c.printf("start it with `cadre up -d`; turns that were at work go on\n")
	})
}
