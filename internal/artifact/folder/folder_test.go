package folder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/artifact/artifacttest"
	"github.com/cadre-dev/cadre/internal/artifact/folder"
	"github.com/cadre-dev/cadre/internal/fault"
)

func open(t *testing.T, dir string) artifact.Store {
	t.Helper()
	s, err := folder.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func damage(t *testing.T, dir, sum string) {
	t.Helper()
	p := filepath.Join(dir, "artifacts", "sha256", sum[:2], sum)
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	artifacttest.Run(t, artifacttest.Driver{Open: open, Damage: damage})
}

// TestCut: a file that lost its end is damaged as well.
func TestCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	stored, err := s.Put(t.Context(), strings.NewReader("whole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "artifacts", "sha256", stored.SHA256[:2], stored.SHA256), 2); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(t.Context(), stored.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := r.Read(make([]byte, 10)); n != 2 || err != nil {
		t.Fatalf("the first read gives %d, %v", n, err)
	}
	if _, err := r.Read(make([]byte, 10)); fault.ReasonOf(err) != "ARTIFACT_CORRUPT" {
		t.Errorf("the end of a cut file: %v, want ErrCorrupt", err)
	}
}

// TestPrivate: nobody but the owner reads artifacts.
func TestPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("this system has no modes")
	}
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	if _, err := s.Put(t.Context(), strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(filepath.Join(dir, "artifacts"), func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", p, info.Mode())
		}
		return nil
	})
	if err != nil || seen < 5 {
		t.Errorf("%d entries were seen, %v", seen, err)
	}
}

// TestRemains: Open removes old temporary files and keeps those of a live writer.
func TestRemains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir).Close()
	old, young := filepath.Join(dir, "artifacts", "tmp", "old"), filepath.Join(dir, "artifacts", "tmp", "young")
	for _, p := range []string{old, young} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	open(t, dir).Close()
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old remains are still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young file is gone: %v", err)
	}
}

// TestNoFolder: the message is for a caller and shows no path of the host.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	_, err := folder.Open(t.Context(), dir)
	if fault.CodeOf(err) != fault.Unavailable || strings.Contains(fault.From(err).Message, dir) {
		t.Errorf("Open of a missing folder: %v", err)
	}
}
