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
	if s, is := c.running(ctx, dir); is {
		return c.already(dir, s)
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
	if s, is := c.faster(ctx, dir); is {
		return c.already(dir, s)
	}
	return err
}

// already answers for a server that runs on the folder, unless that has another database
// than the one that is asked for here.
func (c *app) already(dir string, s config.ServerFile) error {
	if store, place := c.Database(); s.Store != "" && (s.Store != store || s.Place != place) {
		return fmt.Errorf("a server (process %d, %s) runs on %s with %s, and %s is asked for here: end it with `cadre down%s` first, or name another folder with --data",
			s.PID, s.URL, dir, databaseWords(s.Store, s.Place), databaseWords(store, place), c.dataFlag())
	}
	c.note("a server runs already on %s", dir)
	return c.showReady(dir, s.URL)
}

// databaseWords is what people call a database.
func databaseWords(store, place string) string {
	if place == "" {
		return "the " + store + " database of the folder"
	}
	return "the " + store + " " + place
}

// faster answers who took the folder while our server began, if somebody did.
func (c *app) faster(ctx context.Context, dir string) (s config.ServerFile, is bool) {
	for deadline := time.Now().Add(startWait); time.Now().Before(deadline) && config.Holder(dir) != 0; {
		if s, is := c.running(ctx, dir); is {
			return s, true
		}
		select {
		case <-ctx.Done():
			return s, false
		case <-time.After(50 * time.Millisecond):
		}
	}
	return s, false
}

// running answers which server works on the folder, if one does.
func (c *app) running(ctx context.Context, dir string) (s config.ServerFile, is bool) {
	if config.Holder(dir) == 0 {
		return s, false
	}
	s, err := config.ReadServer(dir)
	if err != nil {
		return s, false
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	res, err := newClient(s.URL, dir, c, "").server.GetServerInfo(ctx, connect.NewRequest(&serverv1.GetServerInfoRequest{}))
	return s, err == nil && res.Msg.GetBootId() == s.BootID
}
