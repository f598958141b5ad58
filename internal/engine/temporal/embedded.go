package temporal

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// embedded is a server inside this process.
type embedded struct {
	server temporal.Server
	ports  ports
	key    credential // "" for none
	lines  *lines
}

// face is what a server shows to its clients.
type face struct {
	ip   string
	port int         // 0 for one that the system chooses
	key  credential  // that clients must show; "" for none
	tls  *tls.Config // nil for none
}

// own is the face for the clients of this process.
func own() face { return face{ip: loopback, key: newCredential()} }

// address is where clients connect to.
func (e *embedded) address() string { return e.ports.address(primitives.FrontendService) }

// startEmbedded starts a server over the folder's files. Ports are chosen before
// the server binds them: when another program was faster, the error wraps
// syscall.EADDRINUSE.
func startEmbedded(ctx context.Context, f *folder, shows face) (*embedded, error) {
	p, err := freePorts(shows)
	if err != nil {
		return nil, err
	}
	keys, err := internode()
	if err != nil {
		return nil, err
	}
	keys.FrontendServerConfig = shows.tls
	e := &embedded{ports: p, key: shows.key, lines: newLines(f.log)}
	names := make([]string, 0, len(services))
	for _, s := range services {
		names = append(names, string(s))
	}
	options := []temporal.ServerOption{
		temporal.WithConfig(serverConfig(f.path(mainFile), p)),
		temporal.ForServices(names),
		temporal.WithStaticHosts(p.hosts()),
		temporal.WithDynamicConfigClient(dynamicSettings()),
		temporal.WithLogger(serverLines{e.lines}),
		temporal.WithNamespaceLogger(serverLines{e.lines}),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
		temporal.WithTLSConfigFactory(keys),
		temporal.WithCustomVisibilityStoreFactory(blind{}),
	}
	if shows.key != "" {
		options = append(options, temporal.WithAuthorizer(e.key),
			temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return e.key }))
	} else {
		options = append(options, temporal.WithAuthorizer(authorization.NewNoopAuthorizer()))
	}
	if err := e.start(ctx, options); err != nil {
		return nil, err
	}
	return e, nil
}

// start makes and starts the server in a goroutine of its own, since a server
// that gives itself up ends the goroutine that it runs in.
func (e *embedded) start(ctx context.Context, options []temporal.ServerOption) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("engine: the server gave itself up")
		defer func() {
			if p := recover(); p != nil { // giving itself up inside a once of its own makes it panic
				err = fmt.Errorf("engine: the server gave itself up: %v", p)
			}
			done <- err
		}()
		if e.server, err = temporal.NewServer(options...); err == nil {
			err = e.server.Start()
		}
	}()
	select {
	case err := <-done:
		if reason := e.lines.state.failure(); reason != nil {
			err = reason
		}
		if err != nil {
			return fmt.Errorf("engine: start the server: %w", err)
		}
		return nil
	case <-e.lines.state.failed:
		return fmt.Errorf("engine: start the server: %w", e.lines.state.failure())
	case <-ctx.Done():
		return fmt.Errorf("engine: start the server: %w", context.Cause(ctx))
	}
}

// stop ends the server or, when ctx ends first, leaves it to end by itself.
func (e *embedded) stop(ctx context.Context) error {
	e.lines.state.quiet.Store(true)
	done := make(chan error, 1)
	go func() {
		err := errors.New("engine: the server gave itself up")
		defer func() { done <- err }()
		err = e.server.Stop()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("engine: stop the server: %w", context.Cause(ctx))
	}
}

// freePorts asks the system for ports of the loopback interface, all at once so
// that they differ.
func freePorts(shows face) (ports, error) {
	p := ports{frontend: shows.ip, numbers: map[primitives.ServiceName]int{primitives.FrontendService: shows.port}}
	for _, s := range services {
		l, err := net.Listen("tcp", p.address(s))
		if err != nil {
			return p, fmt.Errorf("engine: find a port: %w", err)
		}
		defer func() { _ = l.Close() }()
		p.numbers[s] = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}
