package app

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/cli"
	"github.com/cadre-dev/cadre/internal/server"
	"github.com/cadre-dev/cadre/internal/standard"
)

// CommandLine is this assembly in the form that the command line uses.
func CommandLine(version string) cli.Assembly {
	return cli.Assembly{
		Version: version, Edition: server.OpenSource,
		Serve: func(ctx context.Context, o cli.ServeOptions) error {
			level := slog.LevelInfo
			if o.Debug {
				level = slog.LevelDebug
			}
			opt := Options{
				DataDir: o.DataDir, Listen: o.Listen, Engine: o.Engine, Version: version, Ready: o.Ready, Note: o.Note, Stderr: o.Stderr, LogLevel: level, OnThisMachine: o.OnThisMachine,
			}
			if o.FailFast {
				opt.Turn.Recovery.Delays = []time.Duration{}
			}
			return Serve(ctx, opt)
		},
		Backups: cli.Backups{
			Make: func(ctx context.Context, dir, out string) (backup.Manifest, string, error) {
				return Backup(ctx, version, dir, out)
			},
			Restore: Restore,
		},
		Doctor: func(ctx context.Context, dir string) []cli.Finding {
			var all []cli.Finding
			for _, f := range Doctor(ctx, dir) {
				all = append(all, cli.Finding(f))
			}
			return all
		},
		Migrate: Migrate,
		Database: func() (string, string) {
			driver := standard.Store(os.Getenv)
			return driver.Name, placeOf(driver)
		},
		Nodes: cli.Nodes{List: Nodes, Forget: ForgetNode},
	}
}
