package cli

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/internal/config"
)

// stopWait bounds how long `down` waits for the server to end.
const stopWait = 30 * time.Second

// stopped is what `down` did.
type stopped struct {
	Stopped bool   `json:"stopped"`
	PID     int    `json:"pid,omitempty"`
	Data    string `json:"data"`
}

func (c *app) downCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "down", Short: "Stop the server of the data folder", Args: noArgs,
		Long: "Stops the server of the data folder. Turns that are at work are not lost: they go on at the next start.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			pid := config.Holder(dir)
			if pid == 0 {
				return c.answer(stopped{Data: dir}, nil, func() { c.printf("no server runs on %s\n", dir) })
			}
			if err := stop(cmd.Context(), dir, pid); err != nil {
				return err
			}
			return c.answer(stopped{true, pid, dir}, []string{strconv.Itoa(pid)}, func() {
				c.printf("stopped (process %d); turns in progress go on at the next start\n", pid)
			})
		},
	}
	c.outputFlag(cmd)
	return cmd
}

// stop ends the server and returns once it has left the folder.
func stop(ctx context.Context, dir string, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("the server (process %d) cannot be told to stop: %w", pid, err)
	}
	for deadline := time.Now().Add(stopWait); time.Now().Before(deadline); {
		if config.Holder(dir) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server (process %d) does not stop; `cadre logs` says what it does, and kill -9 loses nothing", pid)
}

func (c *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Say whether the server runs and how it is", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
			defer cancel()
			res, err := cl.server.GetServerInfo(ctx, connect.NewRequest(&serverv1.GetServerInfoRequest{}))
			if err != nil {
				return err
			}
			if c.output == "name" {
				c.printf("%s\n", cl.url)
				return nil
			}
			return c.show(res.Msg, func() { c.statusTable(cl.url, res.Msg) })
		},
	}
	c.outputFlag(cmd)
	return cmd
}

func (c *app) statusTable(url string, info *serverv1.ServerInfo) {
	c.printf("server   %s\nhealth   %s\nversion  %s\nup       %s\nstore    %s\nengine   %s\n", url, info.GetHealth(), info.GetVersion(),
		time.Since(info.GetStartedAt().AsTime()).Round(time.Second), info.GetStore(), info.GetEngine())
	for _, reason := range info.GetDegraded() {
		c.printf("  %s\n", reason)
	}
	for _, notice := range info.GetNotices() {
		c.printf("notice   %s\n", notice)
	}
}
