package hands

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// ProxyName is the socket of the way out, beside the server's. It is there only where
// the server lets sandboxes out.
const ProxyName = "proxy.sock"

// Proxy offers the way out to programs inside, on a port of this machine, until ctx ends.
// It answers the variables by which programs find it; nil where there is no way out.
func Proxy(ctx context.Context, socket string) ([]string, error) {
	out := filepath.Join(filepath.Dir(socket), ProxyName)
	if _, err := os.Stat(out); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go pass(ctx, c, out)
		}
	}()
	url := "http://" + l.Addr().String()
	return []string{
		"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "http_proxy=" + url, "https_proxy=" + url,
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
	}, nil
}

// pass connects a program with the way out.
func pass(ctx context.Context, c net.Conn, socket string) {
	defer func() { _ = c.Close() }()
	far, err := Unix(socket)(ctx)
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close(); _ = far.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{far, c}, {c, far}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
}
