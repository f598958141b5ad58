package scripted_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/scripted"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, make([]byte, 9<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		code fault.Code
		says string
	}{
		"":                          {fault.InvalidArgument, "scripted:/full/path"},
		"a.yaml":                    {fault.InvalidArgument, "scripted:/full/path"},
		filepath.Join(dir, "none"):  {fault.NotFound, "there is no script"},
		dir:                         {fault.InvalidArgument, "is not a file"},
		huge:                        {fault.InvalidArgument, "more than"},
		write(t, "steps: [{a: 1}]"): {fault.InvalidArgument, ":1:10: a step has no field"},
	} {
		p := scripted.New()
		_, err := p.Open(t.Context(), path)
		if m := fault.From(err).Message; fault.CodeOf(err) != want.code || !strings.Contains(m, want.says) || !strings.Contains(m, path) {
			t.Errorf("Open(%q): %v, want %s, %q", path, err, want.code, want.says)
		}
		if _, err := p.Fingerprint(t.Context(), path); fault.CodeOf(err) != want.code {
			t.Errorf("Fingerprint(%q): %v, want %s", path, err, want.code)
		}
	}
}

// TestChanges: a changed file is read anew; an opened model stays what it was.
func TestChanges(t *testing.T) {
	t.Parallel()
	p, one, two := scripted.New(), "steps: [{text: one}]", "steps: [{text: two}]"
	path := write(t, one)
	first, err := p.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(m model.Model, want string) {
		t.Helper()
		if got, err := play(m, model.Request{History: history("u:x")}); err != nil || got[0] != want {
			t.Errorf("the script plays %q, %v, want %q", got, err, want)
		}
	}
	prints := map[string]bool{}
	for i, text := range []string{one, two} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		m, err := p.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		check(m, []string{"one", "two"}[i])
		sum := sha256.Sum256([]byte(text))
		got, err := p.Fingerprint(t.Context(), path)
		if err != nil || got != hex.EncodeToString(sum[:]) {
			t.Errorf("Fingerprint = %q, %v, want the file's SHA-256", got, err)
		}
		prints[got] = true
	}
	if len(prints) != 2 {
		t.Error("both files have one fingerprint")
	}
	check(first, "one")
}

func TestRegistered(t *testing.T) {
	t.Parallel()
	r, err := model.NewRegistry([]model.Registration{scripted.Registration}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Open(t.Context(), "scripted:"+write(t, "steps: [{text: hi}]"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := play(m, model.Request{History: history("u:x")}); err != nil || got[0] != "hi" {
		t.Errorf("it plays %q, %v", got, err)
	}
}
