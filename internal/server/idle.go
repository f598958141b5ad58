package server

import (
	"net"
	"net/http"
	"sync"
)

// silent are connections on which nothing was asked yet: browsers and clients
// open some ahead of need. A shutdown would give each of them five seconds.
// Safe for concurrent use; the zero value is ready.
type silent struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// note follows a connection; it is the server's ConnState.
func (s *silent) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.conns, c)
		return
	}
	if s.conns == nil {
		s.conns = map[net.Conn]struct{}{}
	}
	s.conns[c] = struct{}{}
}

// close ends them.
func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}
