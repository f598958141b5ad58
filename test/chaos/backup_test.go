package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/test/built"
)

// A backup that finds no room leaves nothing, says so, and disturbs nobody.
func TestABackupOnAFullDisk(t *testing.T) {
	t.Parallel()
	full := smallDisk(t, "256k")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 6)
	fill(t, filepath.Join(full, "filler"))
	out := filepath.Join(full, "backup.tar.gz")
	got := s.Run(t, t.TempDir(), "backup", "--out", out)
	if got.Code != 1 || !strings.Contains(got.Err, "no space left") || !strings.Contains(got.Err, "free some space") {
		t.Errorf("it ended with %d: %s", got.Code, got.Err)
	}
	if left, err := os.ReadDir(full); err != nil || len(left) != 1 {
		t.Errorf("it left %v (%v)", left, err)
	}
	j.ends(t)
}

// lasting is the number of the newest event that a session's readers were shown.
func lasting(t *testing.T, s *built.Server, session string) int64 {
	t.Helper()
	res, err := s.Sessions().Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: session}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetStatus().GetLastSeq()
}

// killed runs a command and kills it after a while; it answers whether it was faster.
func killed(t *testing.T, s *built.Server, after time.Duration, args ...string) (ended bool) {
	t.Helper()
	cmd := s.Command(t, t.TempDir(), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	return cmd.Wait() == nil
}

// A backup that is killed at any instant leaves no file under its name, or a whole one.
// What was acknowledged before it began is in it.
func TestKillsInTheMiddleOfABackup(t *testing.T) {
	t.Parallel()
	_, random := chance(t)
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 40)
	dir, whole, cut := t.TempDir(), 0, 0
	for i := range 24 {
		out := filepath.Join(dir, "b.tar.gz")
		known := lasting(t, s, j.session)
		limit := time.Duration(random.IntN(250)) * time.Millisecond
		if i%8 == 7 {
			limit = time.Minute
		}
		ended := killed(t, s, limit, "backup", "--out", out)
		_, err := os.Stat(out)
		if err != nil {
			cut++
			if ended {
				t.Fatalf("a backup ended well and there is no file: %v", err)
			}
			continue
		}
		whole++
		holds(t, s, out, j.session, known)
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d whole, %d cut short", whole, cut)
	if whole == 0 || cut == 0 {
		t.Error("the kills came all too late or all too early")
	}
	j.ends(t)
}

// holds restores a backup into a new folder and looks for what was acknowledged.
func holds(t *testing.T, s *built.Server, file, session string, known int64) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "restored")
	s.MustRun(t, t.TempDir(), "restore", file, "--data", data)
	db, err := sqlite.Open(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if st, err := db.Session(t.Context(), session); err != nil || st.LastSeq < known {
		t.Errorf("the backup has %d of %d events (%v)", st.LastSeq, known, err)
	}
}

// A server that is killed while a backup is made loses nothing, and the backup is whole
// or not there; restored, it goes on as after a kill.
func TestAKilledServerAndItsBackup(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 10)
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	known := lasting(t, s, j.session)
	cmd := s.Command(t, t.TempDir(), "backup", "--out", out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the backup did not survive the server: %v", err)
	}
	holds(t, s, out, j.session, known)
	s.Start(t)
	j.ends(t)
}

// A restore that is killed at any instant leaves the old database, the new one, or a
// folder that no server begins anew; and restoring again ends it.
func TestKillsInTheMiddleOfARestore(t *testing.T) {
	t.Parallel()
	_, random := chance(t)
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 2)
	j.ends(t)
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	s.MustRun(t, t.TempDir(), "backup", "--out", out)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for range 30 {
		killed(t, s, time.Duration(random.IntN(140))*time.Millisecond, "restore", out, "--force")
		found[state(t, s.Data)]++
	}
	t.Logf("found %v", found)
	s.MustRun(t, t.TempDir(), "restore", out, "--force")
	if got := state(t, s.Data); got != "whole" {
		t.Errorf("at the end it is %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Data, ".restore-*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	s.Start(t)
	j.judge(t, j.events(t))
	again := filepath.Join(t.TempDir(), "again.tar.gz")
	s.MustRun(t, t.TempDir(), "backup", "--out", again)
	if database(t, s, again) != database(t, s, out) {
		t.Error("it is another database")
	}
}

// At each step of the exchange a kill leaves a folder that a start refuses, or a whole
// one; and a backup that is killed before it has its name has none.
func TestKillsAtTheStepsOfARestore(t *testing.T) {
	t.Parallel()
	s, err := built.Hurt(t, filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "b.tar.gz")
	kill := func(place string, args ...string) {
		s.Env = []string{"CADRE_FAILPOINTS=" + place + "=kill@1"}
		if got := s.Run(t, t.TempDir(), args...); got.Code == 0 {
			t.Errorf("at %s nothing was killed: %s%s", place, got.Out, got.Err)
		}
		s.Env = nil
	}
	kill("backup.archived", "backup", "--out", out)
	if _, err := os.Stat(out); err == nil {
		t.Error("a backup that was killed before it had its name has one")
	}
	s.MustRun(t, t.TempDir(), "backup", "--out", out)
	other, err := built.Hurt(t, filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "other.tar.gz")
	other.MustRun(t, t.TempDir(), "backup", "--out", foreign)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{"adopt.marked": "STORE_REPLACED", "adopt.aside": "STORE_MISSING", "adopt.renamed": "whole"} {
		kill(place, "restore", foreign, "--force")
		refuses(t, s, "restore", "was interrupted", "--force")
		finds(t, s, "store", "was interrupted")
		if got := state(t, s.Data); got != want {
			t.Errorf("killed at %s it is %s, want %s", place, got, want)
		}
		s.MustRun(t, t.TempDir(), "restore", out, "--force")
		if got := state(t, s.Data); got != "whole" {
			t.Errorf("restored again after %s it is %s", place, got)
		}
	}
}

// state is what a start would find.
func state(t *testing.T, dir string) string {
	t.Helper()
	found, err := sqlite.Inspect(context.WithoutCancel(t.Context()), dir)
	switch reason := fault.ReasonOf(err); {
	case err == nil && found.Exists:
		return "whole"
	case reason == "STORE_MISSING", reason == "STORE_REPLACED":
		return reason
	case err == nil:
		t.Error("the folder looks like a new one")
	case errors.Is(err, store.ErrNewerSchema):
		t.Error(err)
	default:
		t.Errorf("a start would be refused with %v", err)
	}
	return "bad"
}

// database is the id of the database in a backup.
func database(t *testing.T, s *built.Server, file string) string {
	t.Helper()
	var facts struct{ Database string }
	if err := json.Unmarshal([]byte(s.MustRun(t, t.TempDir(), "backup", "verify", file, "-o", "json")), &facts); err != nil {
		t.Fatal(err)
	}
	return facts.Database
}
