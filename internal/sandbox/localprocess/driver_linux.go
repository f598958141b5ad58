package localprocess

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// The user inside. It is nobody of the machine, and never root.
const (
	insideUser  = 65532
	insideGroup = 65532
)

// Driver makes sandboxes. Safe for concurrent use.
type Driver struct {
	bwrap  string
	hands  string // the program inside
	dir    string // of the sandboxes' folders
	lines  sandbox.Lines
	limits sandbox.Limits
	groups groups // what bounds sandboxes, where the system lets the server
	filter []byte // the system calls that are refused
	root   bool   // the server is root
	log    *slog.Logger

	mu       sync.Mutex
	closed   bool
	children map[sandbox.Key]*child
	turns    map[sandbox.Key]*turn // who changes a sandbox has its turn
}

// turn lets one caller at a time change a sandbox.
type turn struct {
	busy chan struct{}
	want int
}

func open(ctx context.Context, o sandbox.Options) (*Driver, error) {
	d, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.dir, 0o711); err != nil { //nolint:gosec // below a folder that is the server's alone
		return nil, sandbox.ErrUnusable.Saying("the folder of the sandboxes cannot be made: %v", err)
	}
	sweep(d.dir)
	d.groups = openGroups(o.Owner)
	d.log.InfoContext(ctx, "sandboxes are processes", "bounds", d.groups.String())
	return d, nil
}

// usable tells whether sandboxes can be made, and touches none.
func usable(ctx context.Context, o sandbox.Options) error {
	_, err := prepare(ctx, o)
	return err
}

// prepare looks for all that is needed, and tries it.
func prepare(ctx context.Context, o sandbox.Options) (*Driver, error) {
	limits, err := sandbox.LimitsFromEnv(o.Env)
	if err != nil {
		return nil, err
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, sandbox.ErrUnusable.Saying("%s=%s needs bubblewrap, and there is no bwrap in PATH: install the package bubblewrap", sandbox.EnvProvisioner, Name)
	}
	hands, err := o.Hands(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Join(o.DataDir, "sandboxes"))
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Driver{
		bwrap: bwrap, hands: hands, dir: dir, lines: o.Lines, limits: limits, filter: filter, root: os.Geteuid() == 0, log: log,
		children: map[sandbox.Key]*child{}, turns: map[sandbox.Key]*turn{},
	}
	return d, d.probe(ctx)
}

// enter waits for the turn to change a sandbox.
func (d *Driver) enter(ctx context.Context, k sandbox.Key) (leave func(), err error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	t := d.turns[k]
	if t == nil {
		t = &turn{busy: make(chan struct{}, 1)}
		d.turns[k] = t
	}
	t.want++
	d.mu.Unlock()
	gone := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.want--; t.want == 0 {
			delete(d.turns, k)
		}
	}
	if err := ctx.Err(); err != nil {
		gone()
		return nil, context.Cause(ctx)
	}
	select {
	case t.busy <- struct{}{}:
		return func() { <-t.busy; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, context.Cause(ctx)
	}
}

// EnsureSession makes the session's sandbox run.
func (d *Driver) EnsureSession(ctx context.Context, id string, env sandbox.Env) error {
	return d.ensure(ctx, sandbox.Key{Scope: sandbox.Session, ID: id}, env)
}

// EnsureWorkflow makes the execution's sandbox run.
func (d *Driver) EnsureWorkflow(ctx context.Context, id string, env sandbox.Env) error {
	return d.ensure(ctx, sandbox.Key{Scope: sandbox.Workflow, ID: id}, env)
}

// CreateConnect makes the sandbox of one request.
func (d *Driver) CreateConnect(ctx context.Context, request string, env sandbox.Env) error {
	return d.ensure(ctx, sandbox.Key{Scope: sandbox.Connect, ID: request}, env)
}

func (d *Driver) ensure(ctx context.Context, k sandbox.Key, env sandbox.Env) error {
	leave, err := d.enter(ctx, k)
	if err != nil {
		return err
	}
	defer leave()
	line, err := d.lines.Open(k)
	if err != nil {
		return err
	}
	if d.child(k) != nil {
		return nil
	}
	f := d.folder(k)
	epoch, err := f.begin(k, d.root)
	if err != nil {
		return sandbox.ErrFailed.Saying("the folder of the sandbox %s cannot be made: %s", f.name, reason(err)).Because(err)
	}
	c, err := d.start(ctx, f, line, env, epoch)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		c.kill()
		return sandbox.ErrFailed.Saying("the server stops; no sandbox is made any more")
	}
	d.children[k] = c
	go d.forget(k, c)
	return nil
}

// child is what runs for a key; nil for nothing.
func (d *Driver) child(k sandbox.Key) *child {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.children[k]
	if c == nil || c.over() {
		return nil
	}
	return c
}

// forget takes a child that ended out of the map, if it is still that child.
func (d *Driver) forget(k sandbox.Key, c *child) {
	<-c.done
	if !c.asked.Load() {
		d.log.Warn("sandbox ended by itself", "sandbox", sandbox.Name(k), "status", c.cmd.ProcessState.String(), "said", c.said.String())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.children[k] == c {
		delete(d.children, k)
	}
}

// Stop ends the sandbox and keeps its workspace, where the scope keeps one.
func (d *Driver) Stop(ctx context.Context, k sandbox.Key) error {
	if !k.Scope.Keeps() {
		return d.Deprovision(ctx, k)
	}
	leave, err := d.enter(ctx, k)
	if err != nil {
		return err
	}
	defer leave()
	return d.end(ctx, k)
}

// Deprovision ends the sandbox and removes its workspace.
func (d *Driver) Deprovision(ctx context.Context, k sandbox.Key) error {
	leave, err := d.enter(ctx, k)
	if err != nil {
		return err
	}
	defer leave()
	if err := d.end(ctx, k); err != nil {
		return err
	}
	if err := d.lines.Drop(k); err != nil {
		return err
	}
	if err := d.folder(k).remove(); err != nil {
		return sandbox.ErrFailed.Saying("the folder of the sandbox %s cannot be removed: %s", sandbox.Name(k), reason(err)).Because(err)
	}
	return nil
}

// endTime bounds the wait for the end of a sandbox: its kernel needs no time for it.
const endTime = 10 * time.Second

func (d *Driver) end(ctx context.Context, k sandbox.Key) error {
	d.mu.Lock()
	c := d.children[k]
	d.mu.Unlock()
	if c == nil {
		return nil
	}
	c.kill()
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return sandbox.ErrFailed.Saying("the sandbox %s was killed and is still there after %s", sandbox.Name(k), endTime)
	}
}

// Probe answers whether it runs, and else whether its workspace is there.
func (d *Driver) Probe(_ context.Context, k sandbox.Key) (sandbox.State, error) {
	if err := k.Check(); err != nil {
		return "", err
	}
	if d.child(k) != nil {
		return sandbox.Running, nil
	}
	if k.Scope.Keeps() && d.folder(k).exists() {
		return sandbox.Stopped, nil
	}
	return sandbox.Absent, nil
}

// List finds all sandboxes in the data folder. Those of earlier servers are stopped.
func (d *Driver) List(context.Context) ([]sandbox.Found, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, sandbox.ErrFailed.Saying("the folder of the sandboxes cannot be read: %s", reason(err)).Because(err)
	}
	var all []sandbox.Found
	for _, e := range entries {
		f := folder{path: filepath.Join(d.dir, e.Name()), name: e.Name()}
		k, epoch, err := f.read()
		if err != nil || sandbox.Name(k) != e.Name() {
			continue // half made, or nothing of ours
		}
		found := sandbox.Found{Key: k, Name: e.Name(), State: sandbox.Stopped, Epoch: epoch}
		if c := d.child(k); c != nil {
			found.State, found.Started = sandbox.Running, c.started
		}
		all = append(all, found)
	}
	return all, nil
}

// Close ends all sandboxes: they do not outlive the server. Their workspaces stay.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	all := make([]*child, 0, len(d.children))
	for _, c := range d.children {
		all = append(all, c)
	}
	d.mu.Unlock()
	for _, c := range all {
		c.kill()
	}
	for _, c := range all {
		<-c.done
	}
	d.groups.close()
	return nil
}

// reason is what the system said.
func reason(err error) string {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
