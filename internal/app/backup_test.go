package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

func TestTheDumpCommandHasNoSecret(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://cadre:s3cret@db:5432/cadre?sslmode=require":    "pg_dump --format=custom --file=cadre.dump 'postgres://cadre@db:5432/cadre?sslmode=require'",
		"postgresql://db/cadre?password=s3cret&sslpassword=s3cret": "pg_dump --format=custom --file=cadre.dump 'postgresql://db/cadre'",
		"postgres:///cadre?host=/run/pg&password=s3cret":           "pg_dump --format=custom --file=cadre.dump 'postgres:///cadre?host=%2Frun%2Fpg'",
		"host=db password=s3cret dbname=cadre":                     `pg_dump --format=custom --file=cadre.dump "$CADRE_DATABASE_URL"`,
		"postgres://cadre:s3'cret@db/it's":                         `pg_dump --format=custom --file=cadre.dump "$CADRE_DATABASE_URL"`,
	} {
		if got := dumpCommand(address); got != want || strings.Contains(got, "s3") {
			t.Errorf("%s gave %s", address, got)
		}
	}
}

func TestTheDoctorTellsTheNewestBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := checkBackup(dir); got != nil {
		t.Errorf("without one it tells %v", got)
	}
	if err := os.Mkdir(filepath.Join(dir, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, days := range map[string]int{"backups/before-v3-20260101T000000.000Z.db": 30, "cadre-backup-20260102T000000Z.tar.gz": 3} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if got := checkBackup(dir); len(got) != 1 || !got[0].OK || !strings.Contains(got[0].Detail, "is 3 days old (cadre-backup-20260102T000000Z.tar.gz)") {
		t.Errorf("it tells %v", got)
	}
}

// With a database elsewhere a backup has the artifacts that it refers to, and says how
// the database is saved.
func TestABackupBesidePostgreSQL(t *testing.T) { // not parallel: it sets the environment
	url := postgrestest.Start(t).URL(t)
	t.Setenv("CADRE_DATABASE_URL", url)
	dir := t.TempDir()
	kept, err := openArtifacts(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	stored, err := kept.Put(t.Context(), strings.NewReader("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(&artifactv1.Artifact{Spec: &artifactv1.ArtifactSpec{Sha256: stored.SHA256}})
	if err != nil {
		t.Fatal(err)
	}
	row := store.Row{Kind: resourcev1.ResourceKind_artifact, ID: "art_1", Org: "default", CreatedAt: time.Now(), UpdatedAt: time.Now(), Data: data}
	if err := s.Create(t.Context(), row, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m, dump, err := Backup(t.Context(), "1.0", dir, file)
	if err != nil || m.Store != "postgres" || m.Schema != 0 || m.Artifacts() != 1 || !strings.HasPrefix(dump, "pg_dump ") {
		t.Fatalf("it tells %+v, %q, %v", m, dump, err)
	}
	to := filepath.Join(t.TempDir(), "data")
	if r, err := Restore(t.Context(), to, file, false); err != nil || r.Aside != "" {
		t.Errorf("restored is %+v, %v", r, err)
	}
	again, err := openArtifacts(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if r, err := again.Open(t.Context(), stored.SHA256); err != nil {
		t.Error(err)
	} else {
		_ = r.Close()
	}
	t.Setenv("CADRE_DATABASE_URL", "")
	t.Setenv("DATABASE_URL", "")
	if _, err := Restore(t.Context(), to, file, false); fault.ReasonOf(err) != "OTHER_STORE" {
		t.Errorf("with SQLite it says %v", err)
	}
}

// A database with another schema is neither changed nor saved half understood: of a newer
// release, and, where it could not be read without changing it, of an older one.
func TestABackupRefusesAnotherSchema(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("DATABASE_URL", "")
	t.Setenv("CADRE_DATABASE_URL", "")
	out := func() string { return filepath.Join(t.TempDir(), "b.tar.gz") }
	dir := oldFolder(t)
	if m, _, err := Backup(t.Context(), "1.0", dir, out()); err != nil || m.Schema != 1 {
		t.Errorf("of an old file it tells %+v, %v", m, err)
	}
	if err := sqlitetest.FromTheFuture(dir, 999); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Backup(t.Context(), "1.0", dir, out()); fault.ReasonOf(err) != "NEWER_SCHEMA" {
		t.Errorf("of a newer file it says %v", err)
	}
	url := postgrestest.Start(t).URL(t)
	t.Setenv("CADRE_DATABASE_URL", url)
	elsewhere := t.TempDir()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := out()
	if _, _, err := Backup(t.Context(), "1.0", elsewhere, file); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ change, reason string }{
		{"DELETE FROM schema_version WHERE version_id = (SELECT max(version_id) FROM schema_version)", "SCHEMA_PENDING"},
		{"INSERT INTO schema_version (version_id, is_applied) VALUES (999, true)", "NEWER_SCHEMA"},
	} {
		postgrestest.Exec(t, url, c.change)
		if _, _, err := Backup(t.Context(), "1.0", elsewhere, out()); fault.ReasonOf(err) != c.reason {
			t.Errorf("a backup says %v, want %s", err, c.reason)
		}
		if _, err := Restore(t.Context(), elsewhere, file, false); fault.ReasonOf(err) != c.reason {
			t.Errorf("a restore says %v, want %s", err, c.reason)
		}
	}
}
