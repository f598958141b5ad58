// Package remote is the workspace driver for a folder inside a sandbox. The program inside,
// cadre-hands, dials a socket of the server; the server asks over that connection. It may
// break and be made again at any time: what only reads is asked again, a file is written
// once, a command starts once, and a process that runs goes on and is read on.
//
// Proof: a command whose start was never sent is workspace.StartUnavailable; one that was
// sent to a program which is gone since, without an answer, is workspace.StartUnknown and
// never sent again.
package remote

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1/handsv1connect"
	"github.com/cadre-dev/cadre/internal/wire"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// DefaultPatience is how long a call waits for the program inside to dial.
const DefaultPatience = 15 * time.Second

// Link is the server's end of one sandbox. Safe for concurrent use. Make it with Listen.
type Link struct {
	listener net.Listener
	patience time.Duration
	client   handsv1connect.HandsServiceClient
	web      *http.Transport
	fresh    chan net.Conn // accepted, and not taken yet
	closed   chan struct{}

	mu      sync.Mutex
	current *tracked
	hello   *handsv1.HelloResponse // of the current connection; nil before it was asked
	up      chan struct{}          // closed while a connection is there
	ended   bool
	running map[string]*process // by session and id
	kept    []*process          // ended ones in the background, the oldest first
}

// Listen takes connections of one sandbox on a listener, which it closes. A newer
// connection ends the one before: the program inside dials again only when it lost it.
// Zero patience is DefaultPatience.
func Listen(l net.Listener, patience time.Duration) *Link {
	if patience == 0 {
		patience = DefaultPatience
	}
	k := &Link{
		listener: l, patience: patience, fresh: make(chan net.Conn, 1), closed: make(chan struct{}), up: make(chan struct{}),
		running: map[string]*process{},
	}
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	k.web = &http.Transport{
		Protocols: only, DialContext: k.dial, DisableCompression: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
	k.client = handsv1connect.NewHandsServiceClient(&http.Client{Transport: k.web}, "http://hands")
	go k.accept()
	return k
}

// errAway: the program inside is not connected. It is made before anything is sent, which
// is what it proves.
type errAway struct{ err error }

func (e *errAway) Error() string { return e.err.Error() }
func (e *errAway) Unwrap() error { return e.err }

func away() error {
	return &errAway{workspace.ErrFailed.Saying("the sandbox is not connected: it is starting, or has ended")}
}

// tracked is a connection that tells its end.
type tracked struct {
	net.Conn
	once sync.Once
	gone func()
}

func (t *tracked) Close() error {
	err := t.Conn.Close()
	t.once.Do(t.gone)
	return err
}

func (k *Link) accept() {
	for {
		c, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.take(c)
	}
}

// take makes a connection the current one.
func (k *Link) take(c net.Conn) {
	t := &tracked{Conn: c}
	t.gone = func() { k.lost(t) }
	k.mu.Lock()
	before := k.current
	k.current, k.hello = t, nil
	if k.ended {
		k.mu.Unlock()
		_ = c.Close()
		return
	}
	select { // one that nobody took is dead
	case <-k.fresh:
	default:
	}
	k.fresh <- t
	select {
	case <-k.up:
	default:
		close(k.up)
	}
	k.mu.Unlock()
	if before != nil {
		_ = before.Close()
	}
}

func (k *Link) lost(t *tracked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == t {
		k.current, k.up = nil, make(chan struct{})
	}
}

// dial hands the newest connection to the transport.
func (k *Link) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	timer := time.NewTimer(k.patience)
	defer timer.Stop()
	select {
	case c := <-k.fresh:
		return c, nil
	case <-ctx.Done():
		return nil, away()
	case <-k.closed:
		return nil, away()
	case <-timer.C:
		return nil, away()
	}
}

// ready waits until the program inside is connected.
func (k *Link) ready(ctx context.Context) error {
	k.mu.Lock()
	up := k.up
	k.mu.Unlock()
	timer := time.NewTimer(k.patience)
	defer timer.Stop()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-k.closed:
		return away()
	case <-timer.C:
		return away()
	}
}

// Connected tells whether the program inside is connected now.
func (k *Link) Connected() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current != nil
}

// Hello answers who the program inside is, and waits for its connection. It is asked once
// per connection.
func (k *Link) Hello(ctx context.Context) (*handsv1.HelloResponse, error) {
	if err := k.ready(ctx); err != nil {
		return nil, err
	}
	k.mu.Lock()
	at, known := k.current, k.hello
	k.mu.Unlock()
	if known != nil {
		return known, nil
	}
	hello, err := ask(ctx, k, k.client.Hello, &handsv1.HelloRequest{})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if at != nil && k.current == at {
		k.hello = hello
	}
	return hello, nil
}

// Close ends the connection and takes no other. Processes inside go on; what is mirrored
// here of them ends.
func (k *Link) Close() error {
	k.mu.Lock()
	already, current := k.ended, k.current
	k.ended = true
	k.mu.Unlock()
	if already {
		return nil
	}
	close(k.closed)
	err := k.listener.Close()
	if current != nil {
		_ = current.Close()
	}
	k.web.CloseIdleConnections()
	return err
}

// again is how often what only reads is asked anew when its connection breaks.
const again = 3

// ask makes a call that may be repeated: what it does twice is as if done once.
func ask[Q, A any](ctx context.Context, k *Link, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) (*A, error) {
	var last error
	for range again {
		if err := k.ready(ctx); err != nil {
			return nil, err
		}
		res, err := call(ctx, connect.NewRequest(q))
		if err == nil {
			return res.Msg, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if p := wire.Problem(err); p != nil {
			return nil, p
		}
		last = err
	}
	return nil, broken(last)
}

// broken is a connection's error in the words of the seam.
func broken(err error) error {
	var gone *errAway
	if errors.As(err, &gone) {
		return gone
	}
	return workspace.ErrFailed.Saying("the connection to the sandbox broke").Because(err)
}
