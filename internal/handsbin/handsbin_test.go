package handsbin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func none(string) string { return "" }

func named(file string) func(string) string {
	return func(name string) string {
		if name == EnvHands {
			return file
		}
		return ""
	}
}

func TestANamedProgramCounts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hands")
	if err := os.WriteFile(file, []byte("#!"), 0o600); err != nil {
		t.Fatal(err)
	}
	for said, env := range map[string]func(string) string{
		"can be run: it is no file that can be executed": named(file),
		"can be run: no such file or directory":          named(file + "x"),
		"no program that can be run":                     named(filepath.Dir(file)),
	} {
		if _, err := New(t.TempDir(), env).File("amd64"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v", said, err)
		}
	}
	if err := os.Chmod(file, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if got, err := New(t.TempDir(), named(file)).File("amd64"); err != nil || got != file {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAProgramThatIsNowhere(t *testing.T) {
	t.Parallel()
	_, err := New(t.TempDir(), none).File("s390x")
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make build") || !strings.Contains(err.Error(), "GOARCH=s390x") {
		t.Errorf("%v", err)
	}
}

// What is embedded is written once, whole, under the name of its content; what somebody made
// of it is mended.
func TestWhatIsEmbeddedIsWritten(t *testing.T) {
	t.Parallel()
	p := New(filepath.Join(t.TempDir(), "hands"), none)
	first, err := p.write([]byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(first)
	if err != nil || before.Mode().Perm() != 0o755 {
		t.Fatalf("%v, %v", before, err)
	}
	again, err := p.write([]byte("one"))
	after, serr := os.Stat(again)
	if err != nil || serr != nil || again != first || !os.SameFile(before, after) {
		t.Errorf("written a second time: %q, %v, %v", again, err, serr)
	}
	other, err := p.write([]byte("two"))
	if err != nil || other == first {
		t.Errorf("another program is at %q, %v", other, err)
	}
	if err := os.WriteFile(first, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.write([]byte("one")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(first); err != nil || string(data) != "one" {
		t.Errorf("it holds %q, %v", data, err)
	}
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}
