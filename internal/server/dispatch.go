package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// Dispatcher takes every request through the same interceptors, whichever wire
// it came on: error edge, identity, log, validation, and then the verb's steps.
// Safe for concurrent use.
type Dispatcher struct {
	verbs     map[string]pipeline.Verb
	verifiers []identity.Verifier
	validator *pipeline.Validator
	log       *slog.Logger
	closing   context.Context // ends when streams must
	close     context.CancelFunc
}

// NewDispatcher makes one. Two verbs for one procedure are an error that names it.
func NewDispatcher(verbs []pipeline.Verb, verifiers []identity.Verifier, validator *pipeline.Validator, log *slog.Logger) (*Dispatcher, error) {
	d := &Dispatcher{verbs: map[string]pipeline.Verb{}, verifiers: verifiers, validator: validator, log: log}
	d.closing, d.close = context.WithCancel(context.Background())
	for _, v := range verbs {
		if _, taken := d.verbs[v.Procedure]; taken {
			return nil, fmt.Errorf("the procedure %s is registered twice", v.Procedure)
		}
		d.verbs[v.Procedure] = v
	}
	return d, nil
}

// Validator is the instance that judges requests at the transport.
func (d *Dispatcher) Validator() *pipeline.Validator { return d.validator }

// Unary answers one request from the wire.
func (d *Dispatcher) Unary(ctx context.Context, procedure string, req proto.Message, header http.Header) (proto.Message, error) {
	var answer proto.Message
	err := d.edge(ctx, procedure, func(ctx context.Context) error {
		caller, err := d.identify(ctx, procedure, header)
		if err != nil {
			return err
		}
		r, v, err := d.begin(ctx, procedure, req, caller)
		if err != nil {
			return err
		}
		if err := v.Run(identity.With(ctx, caller), r); err != nil {
			return err
		}
		answer = r.Answer
		failpoint.Hit("ack.before")
		return nil
	})
	return answer, err
}

// Stream answers one request from the wire with many messages.
func (d *Dispatcher) Stream(ctx context.Context, procedure string, req proto.Message, send func(proto.Message) error, header http.Header) error {
	return d.edge(ctx, procedure, func(ctx context.Context) error {
		caller, err := d.identify(ctx, procedure, header)
		if err != nil {
			return err
		}
		r, v, err := d.begin(ctx, procedure, req, caller)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(identity.With(ctx, caller))
		defer cancel()
		defer context.AfterFunc(d.closing, cancel)()
		if err := v.Run(ctx, r); err != nil {
			return err
		}
		return v.Stream(ctx, r, send)
	})
}

// CloseStreams ends every stream, so that a shutdown need not wait for them.
func (d *Dispatcher) CloseStreams() { d.close() }

// InProcess answers a request of Cadre's own parts. Its caller is the one in
// ctx, or internal when there is none; no header can claim that.
func (d *Dispatcher) InProcess(ctx context.Context, procedure string, req proto.Message) (proto.Message, error) {
	caller := identity.From(ctx)
	if caller.ID == "" {
		caller = identity.Caller{ID: "cadre", Class: identity.Internal, Name: "cadre"}
	}
	r, v, err := d.begin(ctx, procedure, req, caller)
	if err != nil {
		return nil, err
	}
	err = v.Run(identity.With(ctx, caller), r)
	return r.Answer, err
}

func (d *Dispatcher) begin(_ context.Context, procedure string, req proto.Message, caller identity.Caller) (*pipeline.Request, pipeline.Verb, error) {
	if f := unreadable(req); f != nil {
		return nil, pipeline.Verb{}, f
	}
	v, ok := d.verbs[procedure]
	if !ok {
		return nil, v, fault.New(fault.Unimplemented, "NOT_BUILT", "%s is not built yet", procedure)
	}
	if err := d.validator.Validate(req); err != nil {
		return nil, v, err
	}
	return &pipeline.Request{Caller: caller, Procedure: procedure, Message: req}, v, nil
}

func (d *Dispatcher) identify(ctx context.Context, procedure string, header http.Header) (identity.Caller, error) {
	if d.verbs[procedure].Public {
		return identity.Caller{ID: "anonymous"}, nil
	}
	if known := identity.From(ctx); known.ID != "" { // withToken asked before the body was read
		return known, nil
	}
	return identity.Verify(ctx, d.verifiers, bearer(header))
}

func bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// edge turns whatever goes wrong into an error of the wire, and logs what the
// caller does not see.
func (d *Dispatcher) edge(ctx context.Context, procedure string, answer func(context.Context) error) (err error) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "INTERNAL", "internal error").Because(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		if err != nil {
			err = d.toWire(ctx, procedure, err)
			return
		}
		d.log.DebugContext(ctx, "request answered", "procedure", procedure, "duration_us", time.Since(began).Microseconds())
	}()
	return answer(ctx)
}
