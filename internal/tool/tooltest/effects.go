package tooltest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

func testSucceeds(t *testing.T, f fixture) {
	if r := f.run(t, call(t, f.Args)); r.IsError {
		t.Errorf("the good arguments are refused: %s", r.Text)
	}
}

// testTwice: a second run of a call that is not unsafe leaves what the first did.
func testTwice(t *testing.T, f fixture) {
	if f.tool.Spec().Class == tool.Unsafe {
		t.Skip("an unsafe tool is never run again")
	}
	f.run(t, call(t, f.Args))
	once := f.state(t)
	f.run(t, call(t, f.Args))
	if f.state(t) != once {
		t.Error("a second run changed something more")
	}
}

func testConcurrent(t *testing.T, f fixture) {
	if f.tool.Spec().Class != tool.ReadOnly {
		t.Skip("only read-only tools run in parallel")
	}
	want := f.run(t, call(t, f.Args))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := f.tool.Run(t.Context(), f.env, call(t, f.Args)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("beside others Run = %+v, %v, want %+v", got, err, want)
			}
		})
	}
	all.Wait()
}

func testContextEnds(t *testing.T, f fixture) {
	cause := errors.New("the test ends it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	before := f.state(t)
	if r, err := f.tool.Run(ctx, f.env, call(t, f.Args)); !errors.Is(err, cause) {
		t.Errorf("Run = %+v, %v, want the context's cause", r, err)
	}
	if f.state(t) != before {
		t.Error("something changed after the context had ended")
	}
}

func testReadOnly(t *testing.T, f fixture) {
	if f.tool.Spec().Class != tool.ReadOnly {
		t.Skip("the tool is not read-only")
	}
	if _, is := f.tool.(tool.FileTool); is {
		t.Error("a FileTool cannot be read-only")
	}
	before := f.state(t)
	f.run(t, call(t, f.Args))
	if f.state(t) != before {
		t.Error("a read-only tool changed something")
	}
}

// prepare skips what is no FileTool and gives the mutation of the good arguments.
func (f fixture) prepare(t *testing.T) *tool.Mutation {
	t.Helper()
	ft, is := f.tool.(tool.FileTool)
	if !is {
		t.Skip("the tool is no FileTool")
	}
	m, r, err := ft.Prepare(t.Context(), f.env, call(t, f.Args))
	if m == nil || err != nil || r.IsError {
		t.Fatalf("Prepare = %v, %+v, %v, want a mutation", m, r, err)
	}
	return m
}

func (f fixture) digest(t *testing.T, path string) string {
	t.Helper()
	d, err := f.env.Workspace.Digest(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func testPrepare(t *testing.T, f fixture) {
	before := f.state(t)
	m := f.prepare(t)
	if f.state(t) != before {
		t.Error("Prepare changed something")
	}
	if got := f.digest(t, m.Path); got != m.Before {
		t.Errorf("Before is %s, the file's digest is %s", m.Before, got)
	}
	if m.After == m.Before || m.After == "" || m.Result.Text == "" || m.Result.IsError || m.Commit == nil {
		t.Errorf("the mutation is not whole: %+v", m)
	}
	if m.Path != filepath.ToSlash(filepath.Clean(m.Path)) || filepath.IsAbs(m.Path) {
		t.Errorf("the path %q is not clean and relative", m.Path)
	}
	ft := f.tool.(tool.FileTool)
	bad, r, err := ft.Prepare(t.Context(), f.env, call(t, f.with("no_such_argument", 1)))
	if bad != nil || err != nil || !r.IsError {
		t.Errorf("Prepare of bad arguments = %v, %+v, %v, want a result alone", bad, r, err)
	}
}

func testCommit(t *testing.T, f fixture) {
	m := f.prepare(t)
	for _, what := range []string{"Commit", "a second Commit"} {
		if err := m.Commit(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := f.digest(t, m.Path); got != m.After {
			t.Errorf("after %s the digest is %s, want After, %s", what, got, m.After)
		}
	}
	other := newFixture(t, f.Case)
	if r := other.run(t, call(t, f.Args)); !reflect.DeepEqual(r, m.Result) {
		t.Errorf("Run says %+v, the mutation %+v", r, m.Result)
	}
	if got := other.digest(t, m.Path); got != m.After {
		t.Errorf("Run leaves the digest %s, want %s", got, m.After)
	}
}

func testForeignChange(t *testing.T, f fixture) {
	m := f.prepare(t)
	place := filepath.Join(f.dir, filepath.FromSlash(m.Path))
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place, []byte("by somebody else"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.Commit(t.Context()); !errors.Is(err, workspace.ErrChanged) {
		t.Errorf("Commit after a foreign change: %v, want ErrChanged", err)
	}
	if got, err := os.ReadFile(place); err != nil || string(got) != "by somebody else" {
		t.Errorf("the foreign content is now %q, %v", got, err)
	}
}
