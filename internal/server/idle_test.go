package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/server"
)

func TestAConnectionThatAsksNothingDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d, err := server.NewDispatcher(nil, nil, v, log)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Dispatcher: d, Health: func(context.Context) []string { return nil }, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A request on a second connection proves that the first one was accepted.
	second, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := io.WriteString(second, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	// Left alone, the silent connection would be given five seconds.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("the shutdown ended with %v, its time with %v", err, ctx.Err())
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("the silent connection is still open: %v", err)
	}
}
