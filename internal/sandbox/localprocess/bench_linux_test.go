package localprocess

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// BenchmarkFirstCommand is the time from an ensure to the end of the first command inside.
func BenchmarkFirstCommand(b *testing.B) {
	w := newWorld(b)
	d := w.driver(b)
	defer func() { _ = d.Close() }()
	var made, stopped []time.Duration
	for n := 0; b.Loop(); n++ {
		k := sandbox.Key{Scope: sandbox.Session, ID: "ses_" + strconv.Itoa(n)}
		first := func() time.Duration {
			began := time.Now()
			if err := d.EnsureSession(b.Context(), k.ID, sandbox.NewEnv("q", "", "user")); err != nil {
				b.Fatal(err)
			}
			p, err := w.inside(b, k).Start(b.Context(), workspace.Command{ID: "c" + strconv.FormatInt(began.UnixNano(), 36), Session: "s", Line: "echo there"})
			if err != nil {
				b.Fatal(err)
			}
			<-p.Done()
			return time.Since(began)
		}
		made = append(made, first())
		if err := d.Stop(b.Context(), k); err != nil {
			b.Fatal(err)
		}
		stopped = append(stopped, first())
		if err := d.Deprovision(b.Context(), k); err != nil {
			b.Fatal(err)
		}
	}
	for name, all := range map[string][]time.Duration{"made": made, "stopped": stopped} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Milliseconds()), name+"-p50-ms")
		b.ReportMetric(float64(all[(len(all)*99-1)/100].Milliseconds()), name+"-p99-ms")
	}
}
