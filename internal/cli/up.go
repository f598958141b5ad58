package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/internal/config"
)

// serveFlags are the flags of up and server.
type serveFlags struct {
	listen string
	debug  bool
}

func (f *serveFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.listen, "listen", "", "address to listen on (default $CADRE_LISTEN, else "+config.DefaultListen+"; :0 picks a free port)")
	cmd.Flags().BoolVar(&f.debug, "debug", false, "write debug lines to the log")
}

func (c *app) upCommand() *cobra.Command {
	var f serveFlags
	var detach bool
	cmd := &cobra.Command{
		Use: "up", Short: "Start a server, in the background with -d", Args: noArgs,
		Long: `Starts a server on the data folder and prints "ready http://…" when it answers.
Without -d it runs in the foreground until Ctrl-C. Turns that were at work when
the last server ended, however it ended, go on.`,
		Example: `  cadre up -d
  cadre up -d --data ./data --listen :0`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if detach {
				return c.upDetached(cmd.Context(), f)
			}
			return c.serve(cmd.Context(), f, c.err)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "run in the background")
	c.outputFlag(cmd)
	return cmd
}

func (c *app) serverCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "server", Short: "Run a server in the foreground, for service managers", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context(), f, nil) },
	}
	f.add(cmd)
	return cmd
}

// serve runs a server until SIGINT or SIGTERM; a second signal ends it at once.
func (c *app) serve(ctx context.Context, f serveFlags, warnings io.Writer) error {
	dir, err := c.dataDir()
	if err != nil {
		return err
	}
	listen, err := config.Listen(f.listen)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.Serve(ctx, ServeOptions{
		DataDir: dir, Listen: listen, Debug: f.debug, Stderr: warnings,
		Ready: func(url string) { _ = c.showReady(dir, url) },
		Note:  func(text string) { c.note("%s", text) },
	})
}

// showReady says where the server is.
func (c *app) showReady(dir, url string) error {
	s, err := config.ReadServer(dir)
	if err != nil {
		s = config.ServerFile{URL: url}
	}
	return c.answer(s, []string{url}, func() { c.printf("ready %s\n", url) })
}

// upDetached starts this program again as a server of its own session and waits
// until it is ready or has said why it cannot be.
func (c *app) upDetached(ctx context.Context, f serveFlags) error {
	dir, err := c.dataDir()
	if err != nil {
		return err
	}
	if _, err := config.Listen(f.listen); err != nil {
		return err
	}
	if pid := config.Holder(dir); pid > 0 && config.Stopped(pid) {
		return fmt.Errorf("process %d, which serves %s, is stopped by a signal (SIGSTOP): `kill -CONT %d` lets it go on, and its turns with it", pid, dir, pid)
	}
	if url := c.running(ctx, dir); url != "" {
		c.note("a server runs already on %s", dir)
		return c.showReady(dir, url)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"server", "--data", dir}
	if f.listen != "" {
		args = append(args, "--listen", f.listen)
	}
	if f.debug {
		args = append(args, "--debug")
	}
	url, err := c.spawn(ctx, exec.Command(self, args...))
	if err == nil {
		return c.showReady(dir, url)
	}
	if url := c.faster(ctx, dir); url != "" {
		return c.showReady(dir, url)
	}
	return err
}

// faster answers the address of a server that took the folder while ours began,
// "" when there is none.
func (c *app) faster(ctx context.Context, dir string) string {
	for deadline := time.Now().Add(startWait); time.Now().Before(deadline) && config.Holder(dir) != 0; {
		if url := c.running(ctx, dir); url != "" {
			c.note("a server runs already on %s", dir)
			return url
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(50 * time.Millisecond):
		}
	}
	return ""
}

// running answers the address of a server that works on the folder, "" when none does.
func (c *app) running(ctx context.Context, dir string) string {
	if config.Holder(dir) == 0 {
		return ""
	}
	s, err := config.ReadServer(dir)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	res, err := newClient(s.URL, dir, c, "").server.GetServerInfo(ctx, connect.NewRequest(&serverv1.GetServerInfoRequest{}))
	if err != nil || res.Msg.GetBootId() != s.BootID {
		return ""
	}
	return s.URL
}
