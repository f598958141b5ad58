package lane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Line is the server's end of one sandbox. Safe for concurrent use.
type Line interface {
	// Open is the folder inside. It waits for a while until the program inside is connected.
	Open(ctx context.Context) (workspace.Workspace, error)
	// Connected tells whether the program inside is connected now.
	Connected() bool
	// End ends what a session's commands left, of one execution or, with "", of all; with
	// forget what they printed is forgotten as well.
	End(ctx context.Context, session, execution string, forget bool) error
	// Close ends the connection and takes no other. What runs inside goes on.
	Close() error
}

// Lines are the sockets on which the server waits for the programs inside sandboxes, one
// socket in a folder of its own for each. What dials a socket is the sandbox that the folder
// was mounted into: there is no other way to it. Safe for concurrent use. Make it with
// NewLines.
type Lines struct {
	dir  string
	line func(net.Listener) Line

	// Proxy serves the way out of a sandbox until its listener is closed; nil where there is
	// none. Set it before the first Open.
	Proxy func(k sandbox.Key, l net.Listener)

	mu     sync.Mutex
	open   map[sandbox.Key]Line
	ways   map[sandbox.Key]net.Listener // out
	closed bool
}

var _ sandbox.Lines = (*Lines)(nil)

// NewLines keeps the folders below dir, which it makes. line serves what dials a listener,
// and closes that.
func NewLines(dir string, line func(net.Listener) Line) *Lines {
	return &Lines{dir: dir, line: line, open: map[sandbox.Key]Line{}, ways: map[sandbox.Key]net.Listener{}}
}

// Open makes the server wait for the sandbox's program, and answers the folder.
func (l *Lines) Open(k sandbox.Key) (string, error) {
	if err := k.Check(); err != nil {
		return "", err
	}
	dir := filepath.Join(l.dir, sandbox.Name(k))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[k] != nil {
		return dir, nil
	}
	if l.closed {
		return "", fault.New(fault.Unavailable, "STOPPING", "the server stops; no sandbox is made any more")
	}
	unusable := func(err error) error {
		return sandbox.ErrFailed.Saying("the socket of a sandbox cannot be made in %s: %s", dir, reason(err)).Because(err)
	}
	listener, err := listen(dir, sandbox.SocketName)
	if err != nil {
		return "", unusable(err)
	}
	if err := l.letOut(k, dir); err != nil {
		return "", errors.Join(unusable(err), listener.Close())
	}
	l.open[k] = l.line(listener)
	return dir, nil
}

// letOut opens the way out of a sandbox, or takes it away where there is none any more.
func (l *Lines) letOut(k sandbox.Key, dir string) error {
	if l.Proxy == nil {
		if err := os.Remove(filepath.Join(dir, sandbox.ProxyName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	way, err := listen(dir, sandbox.ProxyName)
	if err != nil {
		return err
	}
	l.ways[k] = way
	go l.Proxy(k, way)
	return nil
}

// shut closes the way out of a sandbox, if it has one.
func (l *Lines) shut(k sandbox.Key) {
	if way := l.ways[k]; way != nil {
		_ = way.Close()
		delete(l.ways, k)
	}
}

// reason is what the system said of a socket or a folder.
func reason(err error) string {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// listen makes a socket that any user can dial who can see it. The folder stays the same
// one, as what is mounted somewhere is no name.
func listen(dir, name string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	// The names of sockets are short. Below a folder that is open there is a short one.
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	short := path
	if len(path) >= socketNameLimit {
		short = filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd())), name)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // by a name that may mean another file then
	if err := os.Chmod(path, 0o666); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

// socketNameLimit is where the names of sockets end on all systems.
const socketNameLimit = 100

// Line is the one to a sandbox's program; nil when it was not opened here.
func (l *Lines) Line(k sandbox.Key) Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[k]
}

// Drop ends the line and removes the folder.
func (l *Lines) Drop(k sandbox.Key) error {
	if err := k.Check(); err != nil {
		return err
	}
	l.mu.Lock()
	link := l.open[k]
	delete(l.open, k)
	l.shut(k)
	l.mu.Unlock()
	if link != nil {
		_ = link.Close()
	}
	return os.RemoveAll(filepath.Join(l.dir, sandbox.Name(k)))
}

// Close ends all lines. The folders stay for the sandboxes that outlive the server.
func (l *Lines) Close() error {
	l.mu.Lock()
	all := l.open
	l.open, l.closed = map[sandbox.Key]Line{}, true
	for k := range l.ways {
		l.shut(k)
	}
	l.mu.Unlock()
	var errs []error
	for _, link := range all {
		errs = append(errs, link.Close())
	}
	return errors.Join(errs...)
}
