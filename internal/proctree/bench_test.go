package proctree

import (
	"log/slog"
	"os"
	"testing"
)

// BenchmarkTrue is the time from Start to Done of a command that does nothing.
func BenchmarkTrue(b *testing.B) {
	for _, mode := range []Mode{Namespace, Group} {
		b.Run(string(mode), func(b *testing.B) {
			if found, reason := Probe(); mode == Namespace && found != Namespace {
				b.Skip(reason)
			}
			f, err := Open(b.Context(), Options{Dir: b.TempDir(), Boot: "bench", Mode: mode, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close(b.Context())
			for b.Loop() {
				tree, err := f.Start(Spec{ID: "x", Line: "true", Env: os.Environ()})
				if err != nil {
					b.Fatal(err)
				}
				<-tree.Done()
			}
		})
	}
}
