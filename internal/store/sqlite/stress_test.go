package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// Numbers of reliability line 13.
const (
	stressWriters = 64
	stressReaders = 8
)

// stressTime is how long the test goes on: CADRE_STRESS, or five seconds.
func stressTime(t *testing.T) time.Duration {
	t.Helper()
	word := os.Getenv("CADRE_STRESS")
	if word == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(word)
	must(t, err)
	return d
}

// Reliability line 13: 64 writers, 8 readers and a running backup; nobody is told that
// the database is busy, and each copy holds what was acknowledged before it began.
func TestWritersReadersAndABackupDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), stressTime(t))
	defer cancel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	defer func() { _ = s.Close() }()
	var written [stressWriters]atomic.Int64
	var reads, copies atomic.Int64
	var all sync.WaitGroup
	for w := range stressWriters {
		all.Go(func() { writeUntil(ctx, t, s, w, &written[w]) })
	}
	for r := range stressReaders {
		all.Go(func() { readUntil(ctx, t, s, r, &reads) })
	}
	all.Go(func() { copyUntil(ctx, t, dir, &written, &copies) })
	all.Wait()
	var sum int64
	for w := range written {
		sum += written[w].Load()
	}
	t.Logf("%d writes, %d reads, %d copies", sum, reads.Load(), copies.Load())
	if sum < stressWriters || reads.Load() < stressReaders || copies.Load() < 1 {
		t.Error("too little happened to prove anything")
	}
}

// writeUntil adds sessions and changes a fact, and counts what was acknowledged.
func writeUntil(ctx context.Context, t *testing.T, s store.Store, w int, acknowledged *atomic.Int64) {
	t.Helper()
	for n := int64(1); ctx.Err() == nil; n++ {
		session := fmt.Sprintf("ses_%d_%d", w, n)
		err := s.CreateSession(t.Context(), store.NewSession{
			Row:  store.Row{Kind: resourcev1.ResourceKind_session, ID: session, Org: "default", CreatedAt: time.Now(), Data: make([]byte, 200)},
			Root: session, Events: []*eventv1.Event{event.New(time.Now(), &eventv1.SessionCreated{})},
		}, nil)
		if err == nil {
			err = s.SetBootState(t.Context(), fmt.Sprint("writer ", w), fmt.Sprint(n))
		}
		if err != nil {
			t.Errorf("writer %d: %v", w, err)
			return
		}
		acknowledged.Store(n)
	}
}

func readUntil(ctx context.Context, t *testing.T, s store.Store, r int, reads *atomic.Int64) {
	t.Helper()
	for n := 0; ctx.Err() == nil; n++ {
		_, err := s.List(t.Context(), store.Query{Kind: resourcev1.ResourceKind_session, Limit: 50})
		if err == nil {
			_, err = s.BootState(t.Context(), fmt.Sprint("writer ", (r+n)%stressWriters))
		}
		if err != nil {
			t.Errorf("reader %d: %v", r, err)
			return
		}
		reads.Add(1)
	}
}

// copyUntil makes one copy after the other.
func copyUntil(ctx context.Context, t *testing.T, dir string, written *[stressWriters]atomic.Int64, copies *atomic.Int64) {
	t.Helper()
	for ctx.Err() == nil {
		var before [stressWriters]int64
		for w := range written {
			before[w] = written[w].Load()
		}
		to := filepath.Join(t.TempDir(), sqlite.FileName)
		if _, err := sqlite.Copy(t.Context(), dir, to); err != nil {
			t.Errorf("copy: %v", err)
			return
		}
		copies.Add(1)
		holdsAll(t, filepath.Dir(to), before)
		if err := os.RemoveAll(filepath.Dir(to)); err != nil {
			t.Error(err)
		}
	}
}

// holdsAll looks into a copy.
func holdsAll(t *testing.T, dir string, least [stressWriters]int64) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Errorf("the copy: %v", err)
		return
	}
	defer func() { _ = s.Close() }()
	for w, n := range least {
		var has int64
		v, err := s.BootState(t.Context(), fmt.Sprint("writer ", w))
		if v != "" {
			_, err = fmt.Sscan(v, &has)
		}
		if err != nil || has < n {
			t.Errorf("the copy lacks what writer %d was told: it has %d of %d (%v)", w, has, n, err)
		}
		if n == 0 {
			continue
		}
		if _, err := s.Session(t.Context(), fmt.Sprintf("ses_%d_%d", w, n)); err != nil {
			t.Errorf("the copy lacks session %d of writer %d: %v", n, w, err)
		}
	}
}
