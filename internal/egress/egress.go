// Package egress is the one way out of a sandbox: a proxy on a socket that the sandbox sees,
// which reaches the hosts of a list and nothing else.
//
// Promise: a name is judged as it was written, and the address that it has by netguard when
// it is dialed, so that a listed name cannot lead to an address that is not of the public
// internet. What is refused is told in a sentence and in the log. It looks into nothing that
// it carries, and adds nothing to it.
package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/netguard"
)

// Proxy serves sandboxes. Safe for concurrent use.
type Proxy struct {
	List  List
	Guard *netguard.Guard
	Log   *slog.Logger
}

// The waits of one connection.
const (
	headTime = 30 * time.Second
	idleTime = 10 * time.Minute // of a tunnel in which nothing moves
)

// Serve answers on a listener until it is closed. name is whose it is, for the log.
func (p *Proxy) Serve(l net.Listener, name string) {
	s := &http.Server{
		Handler: &handler{p, name}, ReadHeaderTimeout: headTime, MaxHeaderBytes: 64 << 10, IdleTimeout: idleTime,
		ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	_ = s.Serve(l)
	_ = s.Close()
}

type handler struct {
	*Proxy
	name string
}

// ServeHTTP carries one request, or with CONNECT a tunnel.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, port, ok := target(r)
	switch {
	case !ok:
		http.Error(w, "this is a proxy: name an address with http or https", http.StatusBadRequest)
	case !h.List.Allows(host, port):
		h.Log.WarnContext(r.Context(), "a sandbox was refused a host", "sandbox", h.name, "host", host, "port", port)
		http.Error(w, fmt.Sprintf("%s:%s may not be reached from this sandbox: the server's %s does not list it", host, port, Env), http.StatusForbidden)
	case r.Method == http.MethodConnect:
		h.tunnel(w, r, net.JoinHostPort(host, port))
	default:
		h.carry(w, r)
	}
}

// target is where a request wants to go.
func target(r *http.Request) (host, port string, ok bool) {
	if r.Method == http.MethodConnect {
		host, port, err := net.SplitHostPort(r.Host)
		return host, port, err == nil && host != "" && port != ""
	}
	if r.URL.Scheme != "http" || r.URL.Hostname() == "" {
		return "", "", false
	}
	if port = r.URL.Port(); port == "" {
		port = "80"
	}
	return r.URL.Hostname(), port, true
}

// carry makes a plain request anew.
func (h *handler) carry(w http.ResponseWriter, r *http.Request) {
	transport := h.Guard.Transport()
	defer transport.CloseIdleConnections()
	(&httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = p.In.URL
			p.Out.Host = p.In.URL.Host // what was judged, whatever the header says
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { h.unreachable(w, r, err) },
	}).ServeHTTP(w, r)
}

func (h *handler) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	var refused *netguard.RefusedError
	if errors.As(err, &refused) {
		h.Log.WarnContext(r.Context(), "a sandbox was refused an address", "sandbox", h.name, "host", r.Host, "error", err)
		http.Error(w, fmt.Sprintf("%s may not be reached: %v", r.Host, refused), http.StatusForbidden)
		return
	}
	http.Error(w, fmt.Sprintf("%s cannot be reached: %v", r.Host, err), http.StatusBadGateway)
}

// tunnel carries bytes both ways until one side ends.
func (h *handler) tunnel(w http.ResponseWriter, r *http.Request, address string) {
	far, err := h.Guard.DialContext(r.Context(), "tcp", address)
	if err != nil {
		h.unreachable(w, r, err)
		return
	}
	defer func() { _ = far.Close() }()
	near, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	join(r.Context(), near, ahead, far)
}

// join copies both ways. The end of one direction is passed on; silence in both ends it.
func join(ctx context.Context, near net.Conn, ahead io.Reader, far net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = near.Close(); _ = far.Close() })
	defer stop()
	var both sync.WaitGroup
	one := func(to net.Conn, from net.Conn, read io.Reader) {
		buffer := make([]byte, 32<<10)
		for {
			_ = from.SetReadDeadline(time.Now().Add(idleTime))
			n, err := read.Read(buffer)
			if n > 0 {
				_ = from.SetReadDeadline(time.Now().Add(idleTime))
				if _, werr := to.Write(buffer[:n]); werr != nil {
					err = werr
				}
			}
			if err != nil {
				if half, ok := to.(interface{ CloseWrite() error }); ok && errors.Is(err, io.EOF) {
					_ = half.CloseWrite()
					return
				}
				_ = near.Close()
				_ = far.Close()
				return
			}
		}
	}
	both.Go(func() { one(far, near, ahead) })
	both.Go(func() { one(near, far, far) })
	both.Wait()
}
