package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// bench is handlers whose runs do nothing: what is measured is the engine alone.
type bench struct{ sessions sync.Map } // session → *turns

type turns struct {
	mu      sync.Mutex
	waiting bool
	rev     int64
	woken   time.Time
	delay   time.Duration // from the wake to the start of its run
	ran     chan struct{}
}

func (h *bench) of(session string) *turns {
	t, _ := h.sessions.LoadOrStore(session, &turns{ran: make(chan struct{}, 1)})
	return t.(*turns)
}

func (h *bench) Peek(_ context.Context, session string) (engine.Decision, error) {
	t := h.of(session)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting {
		return engine.Decision{Verb: engine.Run, Execution: "exe", Attempt: "att", Revision: t.rev}, nil
	}
	return engine.Decision{Verb: engine.Idle, Revision: t.rev}, nil
}

func (h *bench) Run(_ context.Context, a engine.Attempt) error {
	t := h.of(a.Session)
	t.mu.Lock()
	t.waiting = false
	t.delay = time.Since(t.woken)
	t.mu.Unlock()
	t.ran <- struct{}{}
	return nil
}

func (*bench) Connected(context.Context, string)                 {}
func (h *bench) Interrupt(context.Context, string, string) error { return nil }

// turn wakes the session and waits until its run began.
func (h *bench) turn(b *testing.B, d *driver, session string) time.Duration {
	t := h.of(session)
	t.mu.Lock()
	t.waiting = true
	t.rev++
	t.woken = time.Now()
	rev := t.rev
	t.mu.Unlock()
	if err := d.Wake(b.Context(), session, rev); err != nil {
		b.Error(err)
		return 0
	}
	<-t.ran
	return t.delay
}

func beginBench(b *testing.B) (*driver, *bench) {
	b.Helper()
	h := &bench{}
	d := newDriver(Options{Dir: b.TempDir(), Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err := d.Start(b.Context(), h); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	load, _ := os.ReadFile("/proc/loadavg")
	b.Logf("load: %s", strings.TrimSpace(string(load)))
	return d, h
}

func reportDelays(b *testing.B, delays []time.Duration) {
	b.Helper()
	slices.Sort(delays)
	at := func(q float64) float64 {
		return float64(delays[int(q*float64(len(delays)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

// BenchmarkWake is one session that stays open and is woken again and again.
func BenchmarkWake(b *testing.B) {
	d, h := beginBench(b)
	for range 20 {
		h.turn(b, d, "a")
	}
	var delays []time.Duration
	for b.Loop() {
		delays = append(delays, h.turn(b, d, "a"))
		time.Sleep(5 * time.Millisecond) // the loop is idle again
	}
	reportDelays(b, delays)
}

// BenchmarkOpenSessions is 32 sessions that stay open, each woken as soon as its
// run began.
func BenchmarkOpenSessions(b *testing.B) {
	d, h := beginBench(b)
	many(b, func(lane, _ int) time.Duration { return h.turn(b, d, fmt.Sprintf("s%d", lane)) })
}

// BenchmarkNewSessions is a new session for each wake, 32 at a time.
func BenchmarkNewSessions(b *testing.B) {
	d, h := beginBench(b)
	many(b, func(lane, n int) time.Duration { return h.turn(b, d, fmt.Sprintf("s%d.%d", lane, n)) })
}

func many(b *testing.B, turn func(lane, n int) time.Duration) {
	b.Helper()
	const lanes = 32
	var all sync.WaitGroup
	var mu sync.Mutex
	var delays []time.Duration
	b.ResetTimer()
	before := cpu(b)
	for lane := range lanes {
		all.Go(func() {
			for n := range (b.N + lanes - 1) / lanes {
				d := turn(lane, n)
				mu.Lock()
				delays = append(delays, d)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(len(delays))/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(len(delays)), "cpu-ms/turn")
	reportDelays(b, delays)
}

// BenchmarkStart is a start over files that exist, and the stop after it.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	var start, stop time.Duration
	for b.Loop() {
		d := newDriver(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		began := time.Now()
		if err := d.Start(b.Context(), idle{}); err != nil {
			b.Fatal(err)
		}
		ready := time.Now()
		if err := d.Stop(b.Context()); err != nil {
			b.Error(err)
		}
		start += ready.Sub(began)
		stop += time.Since(ready)
	}
	b.ReportMetric(float64(start.Milliseconds())/float64(b.N), "start-ms")
	b.ReportMetric(float64(stop.Milliseconds())/float64(b.N), "stop-ms")
}

// BenchmarkIdle lets an engine idle for ten seconds; run it with -benchtime=1x.
func BenchmarkIdle(b *testing.B) {
	d, h := beginBench(b)
	h.turn(b, d, "a")
	time.Sleep(8 * time.Second) // the session has closed
	for b.Loop() {
		before := cpu(b)
		time.Sleep(10 * time.Second)
		b.ReportMetric(100*(cpu(b)-before).Seconds()/10, "cpu-%")
		b.ReportMetric(resident(b), "rss-MB")
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func resident(b *testing.B) float64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("needs /proc")
	}
	for line := range strings.Lines(string(raw)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}
