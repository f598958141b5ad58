package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/artifact/folder"
	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// filled makes a data folder with a database, one artifact, a setting and a key. The
// artifact's digest is answered.
func filled(t *testing.T) (dir, sum string) {
	t.Helper()
	dir = t.TempDir()
	kept, err := folder.Open(t.Context(), dir)
	must(t, err)
	stored, err := kept.Put(t.Context(), strings.NewReader(strings.Repeat("bytes of a result ", 1000)))
	must(t, err)
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	refer(t, s, "art_1", stored.SHA256)
	must(t, s.SetBootState(t.Context(), "k", "v"))
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(dir, "models.json"), []byte("{}"), 0o600))
	_, err = config.Key(dir, config.DigestKey)
	must(t, err)
	return dir, stored.SHA256
}

// refer makes an artifact's row.
func refer(t *testing.T, s store.Store, id, sum string) {
	t.Helper()
	data, err := proto.Marshal(&artifactv1.Artifact{Spec: &artifactv1.ArtifactSpec{Sha256: sum}})
	must(t, err)
	must(t, s.Create(t.Context(), store.Row{Kind: resourcev1.ResourceKind_artifact, ID: id, Org: "default", CreatedAt: time.Now(), UpdatedAt: time.Now(), Data: data}, nil))
}

func source(dir string) backup.Source {
	return backup.Source{
		Dir: dir, Version: "1.0", Store: "sqlite", Artifacts: folder.Open, Now: time.Now(),
		Database: func(ctx context.Context, to string) (store.Copied, error) { return sqlite.Copy(ctx, dir, to) },
	}
}

func target(dir string) backup.Target {
	return backup.Target{Dir: dir, Store: "sqlite", Files: sqlite.Files, Artifacts: folder.Open, Derived: []string{"engine"}, Now: time.Now()}
}

// made is a backup of a filled folder.
func made(t *testing.T) (file, sum string) {
	t.Helper()
	dir, sum := filled(t)
	file = filepath.Join(t.TempDir(), "b.tar.gz")
	_, err := backup.Write(t.Context(), source(dir), file)
	must(t, err)
	return file, sum
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsRestoredIsWhatWasSaved(t *testing.T) {
	t.Parallel()
	file, sum := made(t)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("beside the backup lies %v", left)
	}
	dir := filepath.Join(t.TempDir(), "new")
	r, err := backup.Restore(t.Context(), file, target(dir))
	must(t, err)
	if r.Aside != "" || len(r.Missing) != 1 || r.Missing[0] != config.DigestKey || r.Artifacts() != 1 {
		t.Errorf("it tells %+v", r)
	}
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	defer func() { _ = s.Close() }()
	if v, err := s.BootState(t.Context(), "k"); v != "v" || err != nil {
		t.Errorf("the value is %q, %v", v, err)
	}
	kept, err := folder.Open(t.Context(), dir)
	must(t, err)
	defer func() { _ = kept.Close() }()
	in, err := kept.Open(t.Context(), sum)
	must(t, err)
	defer func() { _ = in.Close() }()
	if data, err := io.ReadAll(in); err != nil || len(data) != 18000 {
		t.Errorf("the artifact has %d bytes, %v", len(data), err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "models.json")); err != nil || string(data) != "{}" {
		t.Errorf("the setting is %q, %v", data, err)
	}
}

func TestNoKeyIsInABackup(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t)
	key, err := config.Key(dir, config.DigestKey)
	must(t, err)
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m, err := backup.Write(t.Context(), source(dir), file)
	must(t, err)
	if len(m.Keys) != 1 || len(m.Keys[0].Fingerprint) != 16 {
		t.Errorf("the keys are %v", m.Keys)
	}
	if bytes.Contains(unpacked(t, file), key) {
		t.Error("the backup holds the key")
	}
}

func TestADatabaseIsSetAsideAndNeverDeleted(t *testing.T) {
	t.Parallel()
	file, _ := made(t)
	dir, _ := filled(t)
	before, err := os.ReadFile(filepath.Join(dir, sqlite.FileName))
	must(t, err)
	if _, err := backup.Restore(t.Context(), file, target(dir)); fault.ReasonOf(err) != "DATABASE_PRESENT" {
		t.Fatalf("without force it says %v", err)
	}
	forced := target(dir)
	forced.Force = true
	r, err := backup.Restore(t.Context(), file, forced)
	must(t, err)
	if after, err := os.ReadFile(filepath.Join(r.Aside, sqlite.FileName)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old database is not in %q (%v)", r.Aside, err)
	}
	for n := range 3 { // at the same moment again
		forced.Now = forced.Now.UTC().Truncate(time.Second)
		again, err := backup.Restore(t.Context(), file, forced)
		must(t, err)
		if dirs, _ := filepath.Glob(filepath.Join(dir, "replaced-*")); len(dirs) != n+2 || !sqlite.Present(again.Aside) {
			t.Errorf("what was replaced is in %v", dirs)
		}
	}
	if len(r.Differ) != 1 {
		t.Errorf("keys that differ: %v", r.Differ)
	}
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	must(t, s.Close())
}

func TestAFolderInUseIsNotRestoredInto(t *testing.T) {
	t.Parallel()
	file, _ := made(t)
	dir := t.TempDir()
	lock, err := config.Acquire(dir)
	must(t, err)
	defer func() { _ = lock.Release() }()
	if _, err := backup.Restore(t.Context(), file, target(dir)); fault.ReasonOf(err) != "DATA_FOLDER_HELD" {
		t.Errorf("it says %v", err)
	}
}

func TestAnArtifactThatIsGoneIsTold(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t)
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	gone := strings.Repeat("0", 64)
	refer(t, s, "art_2", gone)
	must(t, s.Close())
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m, err := backup.Write(t.Context(), source(dir), file)
	if err != nil || len(m.Lost) != 1 || m.Lost[0] != gone || m.Artifacts() != 1 {
		t.Errorf("it tells %+v, %v", m, err)
	}
}

func TestABackupReplacesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	file, _ := made(t)
	dir, _ := filled(t)
	if _, err := backup.Write(t.Context(), source(dir), file); fault.ReasonOf(err) != "BACKUP_EXISTS" {
		t.Errorf("over a file it says %v", err)
	}
	out := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s := source(dir)
	s.Database = func(ctx context.Context, to string) (store.Copied, error) {
		c, err := sqlite.Copy(ctx, dir, to)
		cancel()
		return c, err
	}
	if _, err := backup.Write(ctx, s, filepath.Join(out, "b.tar.gz")); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped backup says %v", err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

// unpacked is the archive before its compression.
func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	must(t, err)
	data, err := io.ReadAll(z)
	must(t, err)
	return data
}

// member is a file of an archive that a test makes.
type member struct {
	name string
	data []byte
	kind byte
}

// members are those of an archive.
func members(t *testing.T, file string) (all []member) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(unpacked(t, file)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		all = append(all, member{h.Name, data, h.Typeflag})
	}
}

func packed(t *testing.T, all []member) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, m := range all {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Size: int64(len(m.data)), Mode: 0o600}
		if m.kind == tar.TypeSymlink {
			h.Size, h.Linkname = 0, string(m.data)
		}
		must(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := w.Write(m.data)
			must(t, err)
		}
	}
	must(t, errors.Join(w.Close(), z.Close()))
	return out.Bytes()
}

// changed rewrites an archive's manifest.
func changed(t *testing.T, all []member, change func(*backup.Manifest)) []member {
	t.Helper()
	var m backup.Manifest
	must(t, json.Unmarshal(all[0].data, &m))
	change(&m)
	var err error
	all[0].data, err = json.Marshal(m)
	must(t, err)
	return all
}
