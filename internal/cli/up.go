package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/telemetry"
)

// startWait bounds how long `up -d` waits for the server to be ready.
const startWait = 60 * time.Second

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
		Use: "up", Short: "Start a server", Args: noArgs,
		Long: "Starts a server on the data folder and prints `ready http://…` when it answers.\nWithout -d it runs in the foreground until Ctrl-C.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if detach {
				return c.upDetached(cmd.Context(), f)
			}
			return c.serve(cmd.Context(), f, c.err)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&detach, "detach", "d", false, "run in the background")
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
		Ready: func(url string) { c.printf("ready %s\n", url) },
	})
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
	if url := c.running(ctx, dir); url != "" {
		c.note("a server runs already on %s", dir)
		c.printf("ready %s\n", url)
		return nil
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
	return c.spawn(ctx, exec.Command(self, args...))
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
	res, err := newClient(s.URL, "", c).server.GetServerInfo(ctx, connect.NewRequest(&serverv1.GetServerInfoRequest{}))
	if err != nil || res.Msg.GetBootId() != s.BootID {
		return ""
	}
	return s.URL
}

func (c *app) spawn(ctx context.Context, child *exec.Cmd) error {
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ready, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	complaint, err := os.CreateTemp("", "cadre-start-*")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(complaint.Close(), os.Remove(complaint.Name())) }()
	child.Stderr = complaint
	if err := child.Start(); err != nil {
		return err
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(ready).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		if text == "" {
			_ = child.Wait()
			return c.startFailed(complaint.Name())
		}
		c.printf("%s", text)
		return child.Process.Release()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(startWait):
		return fmt.Errorf("the server (process %d) is not ready after %s; `cadre logs` says what it does", child.Process.Pid, startWait)
	}
}

// startFailed repeats what the server said, without its `error: `.
func (c *app) startFailed(file string) error {
	data, err := os.ReadFile(file)
	if err != nil || len(data) == 0 {
		return errors.New("the server ended before it was ready; `cadre logs` says why")
	}
	text := string(data)
	if len(text) > 7 && text[:7] == "error: " {
		text = text[7:]
	}
	return errors.New(text)
}

func (c *app) downCommand() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "Stop the server of the data folder", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := c.dataDir()
			if err != nil {
				return err
			}
			pid := config.Holder(dir)
			if pid == 0 {
				c.printf("no server runs on %s\n", dir)
				return nil
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				return fmt.Errorf("the server (process %d) cannot be told to stop: %w", pid, err)
			}
			for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
				if config.Holder(dir) == 0 {
					c.printf("stopped (process %d); turns in progress go on at the next start\n", pid)
					return nil
				}
				select {
				case <-cmd.Context().Done():
					return context.Cause(cmd.Context())
				case <-time.After(20 * time.Millisecond):
				}
			}
			return fmt.Errorf("the server (process %d) does not stop; `cadre logs` says what it does, and kill -9 loses nothing", pid)
		},
	}
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
}

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
			return c.tail(cmd.Context(), filepath.Join(dir, telemetry.LogFile), lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as lines come")
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
