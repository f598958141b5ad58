package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/standard"
)

// probe tries the port before anything is taken over, so that a server that
// could not serve leaves the turns of the data folder alone. The port is free
// again afterwards: being bound is the sign of readiness.
func (a *App) probe(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.opt.Listen)
	if err != nil {
		return listenFault(a.opt.Listen, err)
	}
	return l.Close()
}

// listen binds the port and tells where it is.
func (a *App) listen(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.opt.Listen)
	if err != nil {
		return listenFault(a.opt.Listen, err)
	}
	a.listener = l
	url := "http://" + l.Addr().String()
	a.onClose("server file", func(context.Context) error { return config.RemoveServer(a.opt.DataDir, a.boot) })
	if err := config.WriteServer(a.opt.DataDir, config.ServerFile{
		URL: url, PID: os.Getpid(), BootID: a.boot, Version: a.opt.Version, StartedAt: a.started,
		Store: a.driver, Place: placeOf(standard.Store(os.Getenv)),
	}); err != nil {
		return errors.Join(err, l.Close())
	}
	a.log.InfoContext(ctx, "server is ready", "url", url, "after_ms", time.Since(a.started).Milliseconds())
	if a.opt.Ready != nil {
		a.opt.Ready(url)
	}
	return nil
}

// serve answers until ctx ends, then lets requests in progress end.
func (a *App) serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- a.server.Serve(a.listener) }()
	a.onClose("port", a.server.Shutdown)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		a.log.InfoContext(ctx, "server stops", "cause", context.Cause(ctx))
		a.server.Drain()
		return nil
	}
}

func listenFault(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fault.New(fault.FailedPrecondition, "PORT_TAKEN",
			"the address %s is taken by %s: use that one, end it, or choose another address with --listen (`:0` picks a free port)", addr, whoAnswers(addr)).Because(err)
	}
	return fault.New(fault.FailedPrecondition, "LISTEN_FAILED", "the address %s cannot be used: choose another with --listen", addr).Because(err)
}

// whoAnswers says what kind of program holds an address.
func whoAnswers(addr string) string {
	client := &http.Client{Timeout: time.Second}
	res, err := client.Get("http://" + addr + "/v1/server")
	if err != nil {
		return "another program"
	}
	defer func() { _ = res.Body.Close() }()
	var info struct{ Version, BootID string }
	if json.NewDecoder(res.Body).Decode(&info) != nil || info.BootID == "" {
		return "another program"
	}
	return fmt.Sprintf("another cadre server (version %s, %s)", info.Version, info.BootID)
}

// stampDefault fills in what the pipeline gives other organizations.
func stampDefault(md *resourcev1.Metadata, now time.Time) {
	md.Id, md.Visibility = md.GetSlug(), resourcev1.Visibility_org
	md.Version = &resourcev1.Version{Number: 1}
	resource.Stamp(md, "cadre", now, true)
}
