package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const (
	// mostRunning bounds how many processes of one session run at once.
	mostRunning = 16
	// mostKept bounds how many ended ones, of all sessions, can still be read.
	mostKept = 64
)

// Host opens workspaces of this machine in which commands can be run. It keeps
// what they print. Safe for concurrent use.
type Host struct {
	forest *proctree.Forest
	given  []string // variables that each command gets

	mu       sync.Mutex
	sessions map[string][]*process // in the order of their start
	ended    []*process            // background ones that can still be read, in the order of their end
}

// NewHost makes a Host over process trees. The caller closes the forest.
func NewHost(f *proctree.Forest) *Host {
	return &Host{forest: f, sessions: map[string][]*process{}}
}

// Give adds variables to the environment of each command, as NAME=value. Call it before
// the first command.
func (h *Host) Give(pairs ...string) { h.given = append(h.given, pairs...) }

// Open is local.Open for a folder in which commands can be run.
func (h *Host) Open(path string) (workspace.Workspace, error) {
	w, err := Open(path)
	if err != nil {
		return nil, err
	}
	w.(*Folder).host = h
	return w, nil
}

// End ends the processes of an execution, or with "" those of the whole session,
// and returns when they are proven gone. An error names what is alive when ctx ends.
func (h *Host) End(ctx context.Context, session, execution string) error {
	var failed error
	for _, p := range h.of(session) {
		if execution != "" && p.command.Execution != execution {
			continue
		}
		if err := p.End(ctx, endGrace); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// Forget ends the processes of a deleted session and drops what they printed.
func (h *Host) Forget(ctx context.Context, session string) error {
	err := h.End(ctx, session, "")
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, session)
	h.ended = slices.DeleteFunc(h.ended, func(p *process) bool { return p.command.Session == session })
	return err
}

func (h *Host) of(session string) []*process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sessions[session])
}

// Start runs a command in the folder.
func (f *Folder) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	if f.host == nil {
		return nil, workspace.ErrNoCommands
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.host.start(c, f.real)
}

func (h *Host) start(c workspace.Command, dir string) (*process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.sessions[c.Session]
	running := 0
	for _, p := range all {
		if !p.ended() {
			running++
		}
	}
	if running >= mostRunning {
		return nil, workspace.ErrTooMany.Saying("%d processes of this session run already: end one before another is started", running)
	}
	p := &process{command: c}
	failpoint.Hit("spawn.before")
	tree, err := h.forest.Start(proctree.Spec{
		ID: c.Session + "/" + c.ID, Line: c.Line, Dir: dir, Env: append(environment(os.Environ()), h.given...), Output: &p.output,
		Owner: map[string]string{"session": c.Session, "execution": c.Execution, "process": c.ID},
	})
	if err != nil {
		return nil, notStarted(c, dir, err)
	}
	failpoint.Hit("spawn.after")
	p.tree = tree
	h.sessions[c.Session] = append(all, p)
	go func() {
		<-tree.Done()
		h.keep(p)
	}()
	return p, nil
}

// notStarted says why a command was not started, and what to do about it.
func notStarted(c workspace.Command, dir string, err error) error {
	if _, gone := os.Stat(dir); gone != nil {
		return workspace.ErrNotFound.Saying("the workspace's folder %s is gone: the command was not started", dir).Because(err)
	}
	if errors.Is(err, syscall.E2BIG) {
		return workspace.ErrBadPath.Saying("the command line has %d bytes, which is more than the system takes (128 KiB): write a file and run that; the command was not started", len(c.Line)).Because(err)
	}
	return workspace.ErrFailed.Saying("the command was not started: %v", err).Because(err)
}

// keep forgets a command that has ended, and of those in the background the one
// that ended first when there are too many.
func (h *Host) keep(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.command.Background {
		h.ended = append(h.ended, p)
		if len(h.ended) <= mostKept {
			return
		}
		p, h.ended = h.ended[0], h.ended[1:]
	}
	h.drop(p)
}

func (h *Host) drop(p *process) {
	rest := slices.DeleteFunc(slices.Clone(h.sessions[p.command.Session]), func(q *process) bool { return q == p })
	if len(rest) == 0 {
		delete(h.sessions, p.command.Session)
		return
	}
	h.sessions[p.command.Session] = rest
}

// Process finds a command that the session started.
func (f *Folder) Process(session, id string) (workspace.Process, error) {
	if f.host == nil {
		return nil, workspace.ErrNoCommands
	}
	all := f.host.of(session)
	for _, p := range slices.Backward(all) {
		if p.command.ID == id {
			return p, nil
		}
	}
	var known []string
	for _, p := range all {
		known = append(known, p.command.ID)
	}
	hint := "this session has none"
	if len(known) > 0 {
		hint = "the session's processes are " + strings.Join(known, ", ")
	}
	return nil, workspace.ErrNoProcess.Saying("no process %q: %s. One that the server of before had started ended with it", id, hint)
}

// passed are the variables of the server's environment that commands get. All
// others, keys of providers among them, stay with the server.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"}

// given are the variables that make programs behave without a terminal.
var given = []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}

// environment is what a command sees of the server's environment.
func environment(all []string) []string {
	out := slices.Clone(given)
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") {
			out = append(out, pair)
		}
	}
	if !slices.ContainsFunc(out, func(pair string) bool { return strings.HasPrefix(pair, "PATH=") }) {
		out = append(out, fmt.Sprintf("PATH=%s", defaultPath))
	}
	return out
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
