// Package metered counts and times the calls of a store, and gives each a span.
//
// What it tells names the method, the driver and how the call ended; never a tenant,
// an id or content. It changes no answer.
package metered

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// Scope names this package's instruments and spans.
const Scope = "github.com/cadre-dev/cadre/internal/store/metered"

// Names of the instruments.
const (
	Calls    = "cadre.store.calls"         // counts calls
	Duration = "cadre.store.call.duration" // in seconds
	Running  = "cadre.store.calls.running" // calls that have not ended yet
)

// Names of the attributes.
const (
	Method = "cadre.store.method"
	Driver = "cadre.store.driver"
	Result = "cadre.result" // ok, or the code of the error
)

// buckets are the bounds of the histogram, from what a read in memory takes to what a
// caller does not wait for.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}

// New puts measurements around a store that driver keeps.
func New(s store.Store, driver string, meters metric.MeterProvider, tracers trace.TracerProvider) (store.Store, error) {
	m := &measured{driver: driver, tracer: tracers.Tracer(Scope), sets: map[[2]string]metric.MeasurementOption{}}
	meter := meters.Meter(Scope)
	var errs [3]error
	m.calls, errs[0] = meter.Int64Counter(Calls, metric.WithDescription("Calls of the store"))
	m.duration, errs[1] = meter.Float64Histogram(Duration, metric.WithUnit("s"), metric.WithDescription("Time that calls of the store took"), metric.WithExplicitBucketBoundaries(buckets...))
	m.running, errs[2] = meter.Int64UpDownCounter(Running, metric.WithDescription("Calls of the store that have not ended yet"))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return store.Around(s, m.do), nil
}

type measured struct {
	driver   string
	tracer   trace.Tracer
	calls    metric.Int64Counter
	duration metric.Float64Histogram
	running  metric.Int64UpDownCounter

	mu   sync.RWMutex
	sets map[[2]string]metric.MeasurementOption // by method and result, of which there are few
}

func (m *measured) do(ctx context.Context, c store.Call, next func(context.Context) error) error {
	ctx, span := m.tracer.Start(ctx, "store."+c.Method, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String(Method, c.Method), attribute.String(Driver, m.driver)))
	defer span.End()
	open := m.attributes(c.Method, "")
	m.running.Add(ctx, 1, open)
	began := time.Now()
	err := next(ctx)
	took := time.Since(began).Seconds()
	m.running.Add(ctx, -1, open)
	how := resultOf(err)
	with := m.attributes(c.Method, how)
	m.calls.Add(ctx, 1, with)
	m.duration.Record(ctx, took, with)
	if err != nil {
		span.SetAttributes(attribute.String(Result, how))
		if failure(how) {
			span.SetStatus(codes.Error, fault.ReasonOf(err))
		}
	}
	return err
}

// resultOf is ok, or the code of an error; both are few.
func resultOf(err error) string {
	var replayed *store.Replayed
	switch {
	case err == nil, errors.As(err, &replayed):
		return "ok"
	case errors.Is(err, context.Canceled):
		return string(fault.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return string(fault.DeadlineExceeded)
	}
	return string(fault.CodeOf(err))
}

// failure tells the store's own trouble from answers such as not_found.
func failure(result string) bool {
	switch fault.Code(result) {
	case fault.Internal, fault.Unavailable, fault.DeadlineExceeded, fault.ResourceExhausted:
		return true
	}
	return false
}

// attributes are made once for each method and result; "" leaves the result out.
func (m *measured) attributes(method, result string) metric.MeasurementOption {
	key := [2]string{method, result}
	m.mu.RLock()
	o := m.sets[key]
	m.mu.RUnlock()
	if o != nil {
		return o
	}
	all := []attribute.KeyValue{attribute.String(Method, method), attribute.String(Driver, m.driver)}
	if result != "" {
		all = append(all, attribute.String(Result, result))
	}
	o = metric.WithAttributeSet(attribute.NewSet(all...))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets[key] = o
	return o
}
