package proctree

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// process is one row of the system's table. start tells processes apart that
// have had the same pid; its unit is the system's.
type process struct {
	pid, ppid, group, session int
	start                     int64
	zombie                    bool
	name                      string
}

// identity is what a process keeps for its life.
type identity struct {
	Pid   int   `json:"pid"`
	Start int64 `json:"start"`
}

func (p process) identity() identity { return identity{p.pid, p.start} }

// system is what the package asks the operating system. Tests put a stubborn
// one in its place.
type system interface {
	// table lists all processes that can be seen.
	table() ([]process, error)
	// marker is the value of the marker variable of a process, "" when it has
	// none or may not be read.
	marker(pid int) string
	// namespace names the PID namespace of a process, "" when unknown.
	namespace(pid int) string
	// signal sends sig, if the pid still belongs to that process.
	signal(who identity, sig syscall.Signal)
	// identify answers who has the pid now.
	identify(pid int) (identity, bool)
	// boot names the machine's boot: pids and start times count within one.
	boot() string
	// reap takes leave of orphans that the server was handed and that ended.
	reap()
}

// search says which processes belong. Its zero value finds none.
type search struct {
	root    identity               // of the first process, if any
	session int                    // the tree's own, unless another process than root has its number
	space   string                 // the namespace of the tree; counts while root lives
	marked  func(mark string) bool // nil: markers are not looked at
	since   int64                  // no member began earlier
	memory  *memory                // members of earlier looks; nil: forgets
}

// memory keeps who was seen as a member. It is safe for concurrent use.
type memory struct {
	mu   sync.Mutex
	seen map[identity]bool
}

func (m *memory) has(who identity) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[who]
}

func (m *memory) add(who identity) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[identity]bool{}
	}
	m.seen[who] = true
}

// find picks the living members out of the table, the root included.
func (s search) find(w *watcher) ([]process, error) {
	now, err := w.look()
	if err != nil {
		return nil, err
	}
	all, in := now.rows, map[int]bool{}
	sessions := s.seeds(now, in)
	s.spread(all, in, sessions)
	var members []process
	for _, p := range all {
		if !in[p.pid] {
			continue
		}
		s.memory.add(p.identity())
		if !p.zombie {
			members = append(members, p)
		}
	}
	return members, nil
}

// seeds finds the members that are known by themselves, and the sessions that
// are the tree's alone: those of its root and of marked processes, since a tree
// begins in a session of its own and nobody can enter a foreign one.
func (s search) seeds(now *view, in map[int]bool) map[int]bool {
	all := now.rows
	sessions := map[int]bool{s.session: s.session > 0}
	kin := ancestors(all)
	rootLives := false
	for _, p := range all {
		rootLives = rootLives || s.root.Pid > 0 && p.identity() == s.root && !p.zombie
		if p.pid == s.session && p.identity() != s.root {
			delete(sessions, s.session) // the number was given away, so the session had ended
		}
	}
	for _, p := range all {
		switch {
		case kin[p.pid] || p.start < s.since:
		case s.root.Pid > 0 && p.identity() == s.root:
			in[p.pid] = true
			sessions[p.session] = true
		case s.memory.has(p.identity()):
			in[p.pid] = true
			sessions[p.session] = true
		case rootLives && s.space != "" && now.sys.namespace(p.pid) == s.space:
			in[p.pid] = true
		case s.marked != nil && !p.zombie && s.marked(now.marker(p.pid)):
			in[p.pid] = true
			sessions[p.session] = true
		}
	}
	for _, p := range all {
		if kin[p.pid] {
			delete(sessions, p.session)
		}
	}
	return sessions
}

// spread adds whoever shares a session with the tree or descends from it.
func (s search) spread(all []process, in, sessions map[int]bool) {
	kin := ancestors(all)
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.pid] || kin[p.pid] || p.start < s.since || (!sessions[p.session] && !in[p.ppid]) {
				continue
			}
			in[p.pid] = true
			grown = true
		}
	}
}

// ancestors are this process and those above it: a server that a tree of an
// earlier one started must not end itself.
func ancestors(all []process) map[int]bool {
	parents := make(map[int]int, len(all))
	for _, p := range all {
		parents[p.pid] = p.ppid
	}
	kin := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !kin[pid]; pid = parents[pid] {
		kin[pid] = true
	}
	return kin
}

// alive is the error about processes that would not end.
func alive(members []process) error {
	names := make([]string, 0, len(members))
	for _, p := range members {
		names = append(names, fmt.Sprintf("%d (%s)", p.pid, p.name))
	}
	slices.Sort(names)
	if len(names) == 0 {
		return fail(ErrAlive, nil, "the processes of the command ended, but the system has not confirmed it in time; try again")
	}
	return fail(ErrAlive, nil, "still alive: process %s; it was sent SIGKILL and may wait for a disk or a network file system: "+
		"end it by hand, or free what it waits for", strings.Join(names, ", "))
}
