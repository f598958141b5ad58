package proctree

import (
	"path/filepath"
	"sync"
	"testing"
)

// stubborn adds a process to the table that carries a marker and never ends.
type stubborn struct {
	system
	mu   sync.Mutex
	mark string
}

const stuckPid = 7_000_001 // above what Linux hands out

func (s *stubborn) hold(mark string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark = mark
}

func (s *stubborn) held() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark
}

func (s *stubborn) table() ([]process, error) {
	all, err := s.system.table()
	if s.held() != "" {
		all = append(all, process{pid: stuckPid, ppid: 1, group: stuckPid, session: stuckPid, start: 1 << 60, name: "stuck-disk"})
	}
	return all, err
}

func (s *stubborn) marker(pid int) string {
	if pid == stuckPid {
		return s.held()
	}
	return s.system.marker(pid)
}

func recordsIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+recordSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
