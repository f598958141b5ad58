// Package server is the only edge of Cadre: one port that serves Connect, gRPC,
// gRPC-Web, REST, server-sent events, health and reflection. It knows wires and
// status codes; what a request means is decided behind its dispatcher.
//
// Promise: the bound port is the sign of readiness. A shutdown reports
// NOT_SERVING first and lets requests in progress end.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1/artifactv1connect"
	"github.com/cadre-dev/cadre/gen/go/rpc"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/server/stream"
)

// compressFrom is the size of a message, in bytes, from which it is worth the time
// to compress it.
const compressFrom = 1 << 10

// maxBody is the largest request, in bytes; an upload may be larger, as the contract
// says, and JSON makes it larger by a third.
const (
	maxBody   = 4 << 20
	maxUpload = 23 << 20
)

// Health says how the server is; reasons are empty when all is well.
type Health func(ctx context.Context) (reasons []string)

// Options of a Server.
type Options struct {
	Dispatcher *Dispatcher
	Health     Health
	// Metrics answers measurements as Prometheus text, to those who have a token; nil for none.
	Metrics http.Handler
	Files   *Files // nil serves none
	Log     *slog.Logger
}

// Server serves one port.
type Server struct {
	opt    Options
	http   *http.Server
	health *grpchealth.StaticChecker
}

// New puts all handlers together.
func New(o Options) (*Server, error) {
	s := &Server{opt: o}
	mux := http.NewServeMux()
	services := s.rpc(mux)
	s.health = grpchealth.NewStaticChecker(services...)
	mux.Handle(grpchealth.NewHandler(s.health))
	reflector := grpcreflect.NewStaticReflector(services...)
	for _, mount := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha} {
		path, h := mount(reflector)
		mux.Handle(path, s.withToken(h))
	}
	rest, err := s.restHandler(mux, services)
	if err != nil {
		return nil, err
	}
	mux.Handle("/v1/", rest)
	mux.Handle("GET /v1/sessions/{session}/events/stream", stream.Handler(o.Dispatcher.Stream, o.Dispatcher.refuse, errorJSON))
	if o.Files != nil {
		mux.Handle("GET "+filesPath+"{artifact}/content", o.Files.serve(o.Dispatcher.refuse))
	}
	if o.Metrics != nil {
		mux.Handle("GET /metrics", s.withToken(o.Metrics))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("/", s.notFound)

	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	quiet := &silent{}
	s.http = &http.Server{
		ConnState: quiet.note,
		Handler:   acknowledged(s.guard(mux)), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	s.http.RegisterOnShutdown(quiet.close)
	return s, nil
}

// rpc mounts every method of the contract and answers the services' names.
func (s *Server) rpc(mux *http.ServeMux) []string {
	opts := []connect.HandlerOption{
		connect.WithCodec(strictBinary{}), connect.WithCodec(strictJSON{"json"}), connect.WithCodec(strictJSON{"json; charset=utf-8"}),
		connect.WithReadMaxBytes(maxBody),
		connect.WithCompressMinBytes(compressFrom),
	}
	var services []string
	for _, m := range rpc.Methods {
		mine := opts
		if m.Procedure == artifactv1connect.ArtifactServiceCreateProcedure {
			mine = append(opts[:len(opts):len(opts)], connect.WithReadMaxBytes(maxUpload))
		}
		h := m.Handler(s.opt.Dispatcher, mine...)
		if !m.Public {
			h = s.withToken(h)
		}
		mux.Handle(m.Procedure, h)
		if name := string(m.Service); len(services) == 0 || services[len(services)-1] != name {
			services = append(services, name)
		}
	}
	return services
}

// acknowledged passes a failpoint once an answer has left, a stream's when it ends.
func acknowledged(h http.Handler) http.Handler {
	if !failpoint.On {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush() // a caller who went away was told nothing
		failpoint.Hit("ack.after")
	})
}

// withToken asks who calls before anything of the body is read.
func (s *Server) withToken(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := identity.Verify(r.Context(), s.opt.Dispatcher.verifiers, bearer(r.Header))
		if err != nil {
			_ = connect.NewErrorWriter().Write(w, r, s.opt.Dispatcher.toWire(r.Context(), r.URL.Path, err))
			return
		}
		h.ServeHTTP(w, r.WithContext(identity.With(r.Context(), caller)))
	})
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	reasons := s.opt.Health(r.Context())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(reasons) == 0 {
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	// Inputs are still accepted and wait, so that the server is ready, if degraded.
	_, _ = w.Write([]byte("degraded\n"))
	for _, reason := range reasons {
		_, _ = w.Write([]byte(reason + "\n"))
	}
}

// Handler is everything that the port serves.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Serve answers on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Drain reports NOT_SERVING; requests are still answered.
func (s *Server) Drain() {
	for _, m := range rpc.Methods {
		s.health.SetStatus(string(m.Service), grpchealth.StatusNotServing)
	}
	s.health.SetStatus("", grpchealth.StatusNotServing)
}

// Shutdown ends the streams and waits for requests in progress until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.opt.Dispatcher.CloseStreams()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}
