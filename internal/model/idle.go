package model

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// idleKey finds what WithIdle put into a context.
type idleKey struct{}

// WithIdle has the requests that HTTPClient's clients make with the answered context end when
// not a single byte came for so long: neither a header nor a part of a body. The error is of
// category Timeout and says in Idle how long it was. 0 sets no bound.
func WithIdle(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, idleKey{}, d)
}

// Silent is the error of a stream that nothing came of: what says what was missed.
func Silent(what string, d time.Duration) *Error {
	return &Error{Category: Timeout, Idle: d, Message: fmt.Sprintf("no %s for %s", what, d)}
}

// watchdog ends a request that nothing comes of.
type watchdog struct {
	timer  *time.Timer // nil for none
	idle   time.Duration
	cancel context.CancelCauseFunc
}

// watch gives a request a watchdog, when its context wants one.
func watch(req *http.Request) (*http.Request, watchdog) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := watchdog{cancel: cancel}
	if d, _ := ctx.Value(idleKey{}).(time.Duration); d > 0 {
		w.idle, w.timer = d, time.AfterFunc(d, func() { cancel(Silent("byte", d)) })
	}
	return req.WithContext(ctx), w
}

// fed tells it that something came.
func (w watchdog) fed() {
	if w.timer != nil {
		w.timer.Reset(w.idle)
	}
}

// end sends it away.
func (w watchdog) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}
