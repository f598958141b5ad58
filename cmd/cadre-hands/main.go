// Command cadre-hands works inside a sandbox: it dials the server's socket and serves the
// files and commands of one folder. Drivers put it into sandboxes and start it; nobody
// calls it by hand.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/hands"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// version is set by the build.
var version = "dev"

// endTime bounds the end of what runs when the program is asked to end.
const endTime = 10 * time.Second

func main() {
	if len(os.Args) > 1 && os.Args[1] == "version" {
		fmt.Println("cadre-hands", version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "cadre-hands:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and ends what it started.
func run(ctx context.Context, log *slog.Logger) error {
	if os.Geteuid() == 0 && os.Getenv(hands.EnvUser) != "" {
		return become(os.Getenv(hands.EnvUser))
	}
	if os.Geteuid() == 0 {
		return fault.New(fault.FailedPrecondition, "HANDS_AS_ROOT", "it runs as root, which commands of agents never do: start it as another user")
	}
	socket, root := os.Getenv(hands.EnvSocket), os.Getenv(hands.EnvRoot)
	if socket == "" {
		return fault.New(fault.InvalidArgument, "NO_SOCKET", "%s names no socket: a sandbox driver starts this program, people do not", hands.EnvSocket)
	}
	if root == "" {
		root = hands.DefaultRoot
	}
	records, err := os.MkdirTemp("", "cadre-hands-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(records) }()
	boot := id.New("hnd")
	forest, err := proctree.Open(ctx, proctree.Options{Dir: records, Boot: boot, Log: log})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if err := forest.Close(ctx); err != nil {
			log.ErrorContext(ctx, "processes are left", "error", err)
		}
	}()
	host := local.NewHost(forest)
	way, err := hands.Proxy(ctx, socket)
	if err != nil {
		return err
	}
	host.Give(way...)
	h, err := hands.New(hands.Options{Host: host, Root: root, Boot: boot, Version: version, UID: os.Geteuid()})
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	return h.Serve(ctx, hands.Unix(socket), log)
}
