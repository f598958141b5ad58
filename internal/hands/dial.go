package hands

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1/handsv1connect"
)

// The variables that a driver sets.
const (
	EnvSocket = "CADRE_HANDS_SOCKET" // of the server, seen from inside
	EnvRoot   = "CADRE_HANDS_ROOT"   // the workspace's folder; default DefaultRoot
	EnvUser   = "CADRE_HANDS_USER"   // UID:GID that a program which was started as root becomes
)

// DefaultRoot is where sandboxes have their workspace.
const DefaultRoot = "/workspace"

// The waits between two tries to reach the server.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 2 * time.Second
)

// Serve dials until ctx ends, and serves each connection until it breaks. It never gives
// up: the server may be started anew, and what runs here goes on meanwhile. The end of ctx
// is no error.
func (h *Hands) Serve(ctx context.Context, dial func(context.Context) (net.Conn, error), log *slog.Logger) error {
	wait := firstWait
	for ctx.Err() == nil {
		conn, err := dial(ctx)
		if err == nil {
			log.DebugContext(ctx, "connected")
			wait = firstWait
			h.serve(ctx, conn)
			log.DebugContext(ctx, "connection ended")
		} else {
			log.DebugContext(ctx, "the server cannot be reached", "error", err, "again_in", wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, lastWait)
	}
	return nil
}

// serve answers on one connection until it ends.
func (h *Hands) serve(ctx context.Context, conn net.Conn) {
	mux := http.NewServeMux()
	mux.Handle(handsv1connect.NewHandsServiceHandler(h))
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	l := &single{conn: conn, ended: make(chan struct{})}
	s := &http.Server{
		Handler: mux, Protocols: only, ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	_ = s.Serve(l) // ends with the connection
	_ = s.Close()
}

// single is a listener of one connection: it gives it once, and then waits for its end.
type single struct {
	conn  net.Conn
	once  sync.Once
	close sync.Once
	ended chan struct{}
}

// Accept gives the connection once.
func (l *single) Accept() (conn net.Conn, err error) {
	l.once.Do(func() { conn = &told{Conn: l.conn, end: l.end} })
	if conn != nil {
		return conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *single) end() { l.close.Do(func() { close(l.ended) }) }

// Close ends the wait.
func (l *single) Close() error {
	l.end()
	return nil
}

// Addr is the connection's.
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// told is a connection that tells its end.
type told struct {
	net.Conn
	end func()
}

func (t *told) Close() error {
	defer t.end()
	return t.Conn.Close()
}

// Unix dials a socket.
func Unix(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if path == "" {
			return nil, errors.New("no socket is named")
		}
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
	}
}
