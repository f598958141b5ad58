// Command bench measures the built cadre against the budgets of the design and
// prints a table; with -write it keeps the table in docs/benchmarks.md. It starts
// servers of its own in temporary folders, on loopback, and stops them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is one line of the table.
type result struct {
	what, budget, measured string
	met                    bool
	note                   string
}

func main() {
	binary := flag.String("cadre", "bin/cadre", "the binary to measure")
	write := flag.Bool("write", false, "keep the table in docs/benchmarks.md")
	quick := flag.Bool("quick", false, "fewer rounds, to see that the bench itself works")
	flag.Parse()
	if err := run(*binary, *write, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(binary string, write, quick bool) error {
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "cadre-bench-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	b := &bench{binary: path, work: work, rounds: 200, seconds: 8}
	if quick {
		b.rounds, b.seconds = 20, 1
	}
	before := load()
	for _, part := range []func(context.Context) error{b.sizes, b.start, b.latency, b.throughput, b.storeRate} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	table := b.table(before, load())
	fmt.Print(table)
	if write {
		return keep(table)
	}
	return nil
}

// bench collects results.
type bench struct {
	binary, work string
	rounds       int
	seconds      int
	results      []result
}

func (b *bench) add(what, budget, measured string, met bool, note string) {
	b.results = append(b.results, result{what, budget, measured, met, note})
	fmt.Fprintf(os.Stderr, "%s: %s\n", what, measured)
}

func (b *bench) table(before, after string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured %s on %s; load average %s before, %s after.\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(), before, after)
	out.WriteString("| what | budget | measured | met | note |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range b.results {
		met := "yes"
		if !r.met {
			met = "**no**"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", r.what, r.budget, r.measured, met, r.note)
	}
	return out.String()
}

// keep replaces the table in docs/benchmarks.md between its two marks.
func keep(table string) error {
	const path, begin, end = "docs/benchmarks.md", "<!-- table begins -->", "<!-- table ends -->"
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the marks %s and %s", path, begin, end)
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+table+end+tail), 0o644)
}

// percentile of durations; p is between 0 and 1.
func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// quantiles adds a line that has a budget for p50 and p99.
func (b *bench) quantiles(what string, all []time.Duration, p50, p99 time.Duration, note string) {
	a, z := percentile(all, 0.5), percentile(all, 0.99)
	budget, met := fmt.Sprintf("p50 ≤ %s ms", ms(p50)), a <= p50
	if p99 > 0 {
		budget += fmt.Sprintf(", p99 ≤ %s ms", ms(p99))
		met = met && z <= p99
	}
	b.add(what, budget, fmt.Sprintf("p50 %s ms, p99 %s ms (n=%d)", ms(a), ms(z), len(all)), met, note)
}
