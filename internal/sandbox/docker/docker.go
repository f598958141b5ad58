// Package docker keeps sandboxes as containers of a Docker engine (API 1.41 or newer) on
// this machine.
//
// A sandbox is one container and, where its workspace is kept, one named volume. The
// container holds nothing that lasts: its root is read-only, so that each start makes it
// anew around the same volume. Its image is the one that was configured when it was made; a
// container that ended by itself is made anew with that, and after a Stop with the one that
// is configured then. Whoever runs inside is
// user 65532, without capabilities, without a network unless one is named, bounded in
// memory, processors, processes and the size of a file.
//
// Promise: the engine's names make a sandbox unique, also among servers that share it.
// Whatever a server that was killed left behind is found by labels: an ensure goes on with
// it, and a Deprovision removes it. Sandboxes outlive the server. The volume has no quota:
// engines have none for their own volumes.
//
// The engine must be one of this machine: it mounts the folder with the server's socket and
// the program that works inside.
package docker

import (
	"context"
	"log/slog"
	"time"

	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// Registration is the driver.
var Registration = sandbox.Registration{Name: "docker", Open: open, Usable: Usable}

// The longest that the engine may take.
const (
	callTime   = 2 * time.Minute
	ensureTime = 20 * time.Minute // an image may be pulled
)

// driver is safe for concurrent use.
type driver struct {
	engine *client.Client
	facts  facts
	config config
	owner  string
	hands  func(arch string) (path string, err error)
	lines  sandbox.Lines
	log    *slog.Logger
	locks  locks
}

var _ sandbox.Provisioner = (*driver)(nil)

func open(ctx context.Context, o sandbox.Options) (sandbox.Provisioner, error) { return Open(ctx, o) }

// Open connects. It refuses with ErrUnusable an engine that could not hold sandboxes to
// what the package promises.
func Open(ctx context.Context, o sandbox.Options) (sandbox.Provisioner, error) {
	c, err := fromEnv(o.Env)
	if err != nil {
		return nil, err
	}
	engine, facts, err := connect(ctx, c.host)
	if err != nil {
		return nil, err
	}
	return &driver{
		engine: engine, facts: facts, config: c, owner: o.Owner, hands: o.Hands, lines: o.Lines, log: o.Log,
		locks: locks{held: map[sandbox.Key]*lock{}},
	}, nil
}

// Usable tells whether sandboxes could be made; ErrUnusable says why not.
func Usable(ctx context.Context, o sandbox.Options) error {
	c, err := fromEnv(o.Env)
	if err != nil {
		return err
	}
	engine, facts, err := connect(ctx, c.host)
	if err != nil {
		return err
	}
	if o.Hands != nil {
		_, err = o.Hands(facts.arch)
	}
	_ = engine.Close()
	return err
}

// EnsureSession makes it run.
func (d *driver) EnsureSession(ctx context.Context, id string, env sandbox.Env) error {
	return d.ensure(ctx, sandbox.Key{Scope: sandbox.Session, ID: id}, env)
}

// EnsureWorkflow makes it run.
func (d *driver) EnsureWorkflow(ctx context.Context, id string, env sandbox.Env) error {
	return d.ensure(ctx, sandbox.Key{Scope: sandbox.Workflow, ID: id}, env)
}

// CreateConnect makes one whose workspace is in memory.
func (d *driver) CreateConnect(ctx context.Context, request string, env sandbox.Env) error {
	return d.ensure(ctx, sandbox.Key{Scope: sandbox.Connect, ID: request}, env)
}

// Close lets go of the engine. Sandboxes go on.
func (d *driver) Close() error { return d.engine.Close() }
