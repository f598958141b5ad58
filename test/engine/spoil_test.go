package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

// spoils are what can happen to the engine's files.
var spoils = map[string]func(t *testing.T, dir string){
	"deleted": func(t *testing.T, dir string) {
		for _, name := range []string{"engine.db", "engine.db-wal", "engine.db-shm"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	},
	"truncated": func(t *testing.T, dir string) {
		for _, name := range []string{"engine.db", "engine.db-wal"} {
			if err := os.Truncate(filepath.Join(dir, name), 8192); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	},
	"overwritten": func(t *testing.T, dir string) {
		for _, name := range []string{"engine.db", "engine.db-wal"} {
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Write(bytes.Repeat([]byte("garbage "), int(info.Size()/8)))
			if cerr := f.Close(); err != nil || cerr != nil {
				t.Fatal(err, cerr)
			}
		}
	},
	"of another version": func(t *testing.T, dir string) {
		mark := `{"id":"eng_old","server":"0.0.1","schema":"0.1","layout":1}`
		if err := os.WriteFile(filepath.Join(dir, "engine.json"), []byte(mark), 0o600); err != nil {
			t.Fatal(err)
		}
	},
}

// Reliability, line 5: the engine's files are spoiled while a turn works. The turn
// ends under the running server. An input that comes afterwards is accepted and is
// done at the latest after a restart, which finds the spoiled files.
func TestFilesSpoiledInMidRun(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := built.ByEngine(t, filepath.Join(t.TempDir(), "data"))
			declareTally(t, s, "100ms")
			first := beginTally(t, s)
			first.working(t)
			spoil(t, filepath.Join(s.Data, "engine"))
			later := beginTally(t, s)
			first.complete(t)
			t.Logf("after it was %s the server says: %s", name, s.MustRun(t, t.TempDir(), "status"))
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			s.Start(t)
			later.complete(t)
			beginTally(t, s).complete(t)
		})
	}
}

// The files are spoiled between two processes, of which the first was killed: all
// open work goes on by itself.
func TestFilesSpoiledAtStart(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := built.ByEngine(t, filepath.Join(t.TempDir(), "data"))
			declareTally(t, s, "100ms")
			one, two := beginTally(t, s), beginTally(t, s)
			one.working(t)
			two.working(t)
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			spoil(t, filepath.Join(s.Data, "engine"))
			s.Start(t)
			one.complete(t)
			two.complete(t)
		})
	}
}
