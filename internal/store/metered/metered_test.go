package metered_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/metered"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// told is a meter that keeps what it is told, one line each.
type told struct {
	mu    sync.Mutex
	lines []string
}

type provider struct {
	noop.MeterProvider
	told *told
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return meter{told: p.told} }

type meter struct {
	noop.Meter
	told *told
}

type counter struct {
	noop.Int64Counter
	name string
	told *told
}

type histogram struct {
	noop.Float64Histogram
	name string
	told *told
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{name: name, told: m.told}, nil
}

func (m meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{name: name, told: m.told}, nil
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.told.add(c.name, n, metric.NewAddConfig(opts).Attributes())
}

func (h histogram) Record(_ context.Context, v float64, opts ...metric.RecordOption) {
	if v < 0 || v > 60 {
		v = -1
	} else {
		v = 1
	}
	h.told.add(h.name, int64(v), metric.NewRecordConfig(opts).Attributes())
}

func (t *told) add(name string, n int64, set attribute.Set) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%s %d %s", name, n, set.Encoded(attribute.DefaultEncoder())))
}

func measured(t *testing.T, s store.Store) (store.Store, *told) {
	t.Helper()
	to := &told{}
	m, err := metered.New(s, "sqlite", provider{told: to}, tracenoop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	return m, to
}

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestEachCallIsCountedAndTimedWithItsResult(t *testing.T) {
	t.Parallel()
	s, to := measured(t, open(t))
	if err := s.SetBootState(t.Context(), "secret-key", "secret-value"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(t.Context(), "ses_secret"); !errors.Is(err, fault.New(fault.NotFound, "NOT_FOUND", "")) && fault.CodeOf(err) != fault.NotFound {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.SetBootState(ctx, "k", "v")
	var want []string
	for _, c := range []string{"set_boot_state,cadre.result=ok", "session,cadre.result=not_found", "set_boot_state,cadre.result=canceled"} {
		method, result, _ := strings.Cut(c, ",")
		with := result + ",cadre.store.driver=sqlite,cadre.store.method=" + method
		want = append(want, metered.Calls+" 1 "+with, metered.Duration+" 1 "+with)
	}
	if !slices.Equal(to.lines, want) {
		t.Errorf("told were\n%s\nwant\n%s", strings.Join(to.lines, "\n"), strings.Join(want, "\n"))
	}
	if all := strings.Join(to.lines, "\n"); strings.Contains(all, "secret") || strings.Contains(all, "ses_") {
		t.Errorf("an id or content was told:\n%s", all)
	}
}

// What is measured keeps the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		s, _ := measured(t, open(t))
		return s
	})
}
