package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/telemetry"
)

func (c *app) logsCommand() *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use: "logs", Short: "Show the server's log", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.tail(ctx, filepath.Join(dir, telemetry.LogFile), lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as lines come, until Ctrl-C")
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many of the newest lines to show")
	return cmd
}

// tail prints the newest lines of a file and, with follow, what is added to it.
func (c *app) tail(ctx context.Context, path string, lines int, follow bool) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no log at %s: no server has run on this data folder", path)
	}
	if err != nil {
		return err
	}
	from := len(data)
	for n := 0; from > 0; from-- {
		if data[from-1] == '\n' && from < len(data) {
			if n++; n >= lines {
				break
			}
		}
	}
	_, _ = c.out.Write(data[from:])
	for at := int64(len(data)); follow; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if info, err := f.Stat(); err == nil && info.Size() < at {
			at = 0
		}
		n, err := io.Copy(c.out, io.NewSectionReader(f, at, 1<<62))
		at += n
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
