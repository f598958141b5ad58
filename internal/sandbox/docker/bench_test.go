package docker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkFirstCommand is the time from an ensure to the end of a first command inside: of
// a sandbox that is made, and of one that was stopped.
func BenchmarkFirstCommand(b *testing.B) {
	w := newWorld(b)
	p := w.open(b)
	defer func() { _ = p.Close() }()
	var fresh, stopped []time.Duration
	for n := 0; b.Loop(); n++ {
		k := session(fmt.Sprintf("ses_bench_%d", n))
		first := func() time.Duration {
			began := time.Now()
			ensure(b, p, k, "")
			if got, exit := shell(b, w.inside(b, k), "echo there"); got != "there" {
				b.Fatalf("it prints %q, %+v", got, exit)
			}
			return time.Since(began)
		}
		fresh = append(fresh, first())
		if err := p.Stop(b.Context(), k); err != nil {
			b.Fatal(err)
		}
		stopped = append(stopped, first())
		if err := p.Deprovision(b.Context(), k); err != nil {
			b.Fatal(err)
		}
	}
	for name, all := range map[string][]time.Duration{"made": fresh, "stopped": stopped} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Milliseconds()), name+"-p50-ms")
		b.ReportMetric(float64(all[(len(all)*99-1)/100].Milliseconds()), name+"-p99-ms")
	}
}
