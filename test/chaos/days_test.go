package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/test/built"
)

// Bad days: each ends in a clear sentence or in plain continuation, and `cadre
// doctor` finds it.

// finds runs doctor, which must call the check bad and say these words of it.
func finds(t *testing.T, s *built.Server, check string, words ...string) {
	t.Helper()
	got := s.Run(t, t.TempDir(), "doctor")
	lines := strings.SplitAfter(got.Out, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "BAD  "+check) {
			continue
		}
		line += lines[i+1] // the advice
		for _, w := range words {
			if !strings.Contains(line, w) {
				t.Errorf("doctor does not say %q of the %s: %s", w, check, line)
			}
		}
		if got.Code != 1 {
			t.Errorf("doctor found something and ended with %d", got.Code)
		}
		return
	}
	t.Errorf("doctor does not find what is wrong with the %s:\n%s", check, got.Out)
}

// refuses starts a server that must end before it is ready, with these words.
func refuses(t *testing.T, s *built.Server, words ...string) {
	t.Helper()
	got := s.Run(t, t.TempDir(), "up", "--listen", "127.0.0.1:0")
	if got.Code != 1 {
		t.Fatalf("the server ended with %d: %s%s", got.Code, got.Out, got.Err)
	}
	for _, w := range words {
		if !strings.Contains(got.Err, w) {
			t.Errorf("it does not say %q: %s", w, got.Err)
		}
	}
	if strings.Contains(got.Err, "goroutine ") {
		t.Errorf("it shows its inside: %s", got.Err)
	}
}

// steady starts a turn of some slow steps and waits for its first edit.
func steady(t *testing.T, s *built.Server, steps int) *job {
	t.Helper()
	j := begin(t, s, steps, 200*time.Millisecond)
	s.AwaitType(t, j.session, "agent.tool.completed", 1)
	return j
}

// ends looks after a turn to its end and judges it.
func (j *job) ends(t *testing.T) {
	t.Helper()
	j.finish(t)
	j.judge(t, j.events(t))
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	data := smallDisk(t, "32m")
	s := built.Start(t, data)
	j := steady(t, s, 12)
	filler := filepath.Join(data, "filler")
	fill(t, filler)
	refused := ""
	for end := time.Now().Add(20 * time.Second); refused == ""; {
		_, err := s.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{Agent: "editor", Message: strings.Repeat("more ", 20000)}))
		if err != nil {
			refused = err.Error()
			if connect.CodeOf(err) != connect.CodeUnavailable {
				t.Errorf("an input on a full disk gave %v", err)
			}
		}
		if time.Now().After(end) {
			t.Fatal("inputs are accepted on a full disk")
		}
	}
	if !strings.Contains(refused, "disk is full") || !strings.Contains(refused, "free some space") {
		t.Errorf("an input on a full disk is refused with %q", refused)
	}
	finds(t, s, "disk", "MiB free")
	if phase := status(t, s, j.execution).GetPhase(); phase == agentexecutionv1.ExecutionPhase_failed {
		t.Errorf("the full disk failed the turn")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	j.ends(t)
}

// Turns that stopped on a disk that stays full go on by themselves when there is room,
// within half a minute and without a restart, and the server is well again.
func TestTurnsGoOnAfterAFullDisk(t *testing.T) {
	t.Parallel()
	data := smallDisk(t, "64m")
	s := built.Start(t, data)
	var all []*job
	for range 4 {
		all = append(all, steady(t, s, 40))
	}
	filler := filepath.Join(data, "filler")
	fill(t, filler)
	<-time.NewTimer(25 * time.Second).C // the store is looked at again meanwhile, and so is the engine
	for _, j := range all {
		if phase := status(t, s, j.execution).GetPhase(); phase != agentexecutionv1.ExecutionPhase_running && phase != agentexecutionv1.ExecutionPhase_queued {
			t.Errorf("on the full disk a turn is %s", phase)
		}
	}
	done := map[*job]int{}
	for _, j := range all {
		done[j] = count(j.events(t), "agent.tool.completed")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	room := time.Now()
	for _, j := range all {
		s.AwaitType(t, j.session, "agent.tool.completed", done[j]+1)
		if took := time.Since(room); took > 30*time.Second {
			t.Errorf("a turn went on %s after there was room", took)
		}
	}
	t.Logf("all go on %s after there was room", time.Since(room).Round(time.Second))
	for _, j := range all {
		j.ends(t)
	}
	if said := s.MustRun(t, t.TempDir(), "status"); !strings.Contains(said, "health   ok") {
		t.Errorf("afterwards the server says\n%s", said)
	}
}

// fill writes until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// smallDisk mounts a file system of a size, which takes a right that few tests have.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := mountSmall(dir, size); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { unmountSmall(t, dir) })
	return filepath.Join(dir, "data")
}

func TestADamagedStore(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(data []byte) []byte{
		"truncated": func(data []byte) []byte { return data[:len(data)/2] },
		"corrupted": func(data []byte) []byte {
			copy(data[len(data)/4:], bytes.Repeat([]byte("noise "), 1000))
			return data
		},
		"emptied":     func([]byte) []byte { return nil },
		"no database": func([]byte) []byte { return bytes.Repeat([]byte("no database "), 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := built.Start(t, filepath.Join(t.TempDir(), "data"))
			steady(t, s, 2).ends(t)
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(s.Data, "cadre.db")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, hurt(data), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			finds(t, s, "store", path)
			refuses(t, s, path, "backup")
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
		})
	}
}

// A database whose newest commits are lost, because the file that they were in is
// damaged or gone, is not taken for the whole.
func TestAStoreThatLostItsNewestCommits(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(wal []byte) []byte{
		"damaged": func(wal []byte) []byte {
			wal[len(wal)/3] ^= 0xff
			return wal
		},
		"gone": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := built.Start(t, filepath.Join(t.TempDir(), "data"))
			steady(t, s, 4)
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(s.Data, "cadre.db-wal")
			wal, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, hurt(wal), 0o600); err != nil {
				t.Fatal(err)
			}
			finds(t, s, "store", "cadre.mark")
			refuses(t, s, "cadre.db", "cadre.mark")
		})
	}
}

func TestADamagedEngine(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(t *testing.T, dir string){
		"deleted": func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
		"truncated":   func(t *testing.T, dir string) { t.Helper(); overwrite(t, dir, nil) },
		"overwritten": func(t *testing.T, dir string) { t.Helper(); overwrite(t, dir, bytes.Repeat([]byte("noise "), 5000)) },
		"of another version": func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, "engine.json")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte(`"server":"1.`), []byte(`"server":"0.`)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := built.ByEngine(t, filepath.Join(t.TempDir(), "data"))
			j := steady(t, s, 6)
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			hurt(t, filepath.Join(s.Data, "engine"))
			if name != "deleted" { // a folder that is not there is made, as at the first start
				finds(t, s, "engine", "engine")
			}
			s.Start(t)
			j.ends(t)
		})
	}
}

func overwrite(t *testing.T, dir string, with []byte) {
	t.Helper()
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(filepath.Join(dir, "engine.db"+suffix))
	}
	path := filepath.Join(dir, "engine.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if with == nil {
		with = data[:len(data)/2]
	}
	if err := os.WriteFile(path, with, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The engine's files are deleted under a running server: nothing is lost, at the
// latest after its next start.
func TestAnEngineThatIsDeletedInMidRun(t *testing.T) {
	t.Parallel()
	s := built.ByEngine(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 12)
	if err := os.RemoveAll(filepath.Join(s.Data, "engine")); err != nil {
		t.Fatal(err)
	}
	s.AwaitType(t, j.session, "agent.tool.completed", 4)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	j.ends(t)
}

func TestANewerSchema(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := sqlitetest.FromTheFuture(s.Data, 999); err != nil {
		t.Fatal(err)
	}
	finds(t, s, "store", "v999")
	refuses(t, s, "v999", "newer")
}

func TestASecondServerOnTheFolder(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 6)
	got := s.Run(t, t.TempDir(), "server", "--listen", "127.0.0.1:0")
	if got.Code != 1 || !strings.Contains(got.Err, s.Data) {
		t.Errorf("a second server ended with %d: %s%s", got.Code, got.Out, got.Err)
	}
	j.ends(t)
	if count(j.events(t), "turn.recovery.requested") != 0 {
		t.Error("the second server disturbed the turn of the first")
	}
}

// A server that is stopped for a minute goes on as if nothing had been.
func TestAServerThatIsStoppedForAMinute(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := steady(t, s, 12)
	if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	finds(t, s, "health", "stopped", "kill -CONT")
	if got := s.Run(t, t.TempDir(), "up", "-d"); got.Code != 1 || !strings.Contains(got.Err, "kill -CONT") {
		t.Errorf("up answers of a stopped server with %d: %s%s", got.Code, got.Out, got.Err)
	}
	<-time.NewTimer(time.Minute).C
	if err := syscall.Kill(s.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	j.ends(t)
}

// The clock jumps forward and back in mid-turn: the turn goes on, and the log
// keeps its order.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	offset := filepath.Join(t.TempDir(), "offset")
	s, err := built.Hurt(t, filepath.Join(t.TempDir(), "data"), "CADRE_CLOCK_OFFSET_FILE="+offset)
	if err != nil {
		t.Fatal(err)
	}
	j := steady(t, s, 12)
	for i, jump := range []string{"3h", "-3h", "20m", "-48h"} {
		if err := os.WriteFile(offset, []byte(jump), 0o600); err != nil {
			t.Fatal(err)
		}
		s.AwaitType(t, j.session, "agent.model.request", 2*i+4)
	}
	j.ends(t)
	if n := count(j.events(t), "turn.recovery.requested"); n != 0 {
		t.Errorf("the jumps cost the turn %d attempts", n)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(offset, []byte("-72h"), 0o600); err != nil {
		t.Fatal(err)
	}
	finds(t, s, "clock", "set back")
	s.Start(t)
	next := steady(t, s, 4)
	next.ends(t)
	if !hasType(next.events(t), "turn.completed") {
		t.Error("with the clock set back no turn completes")
	}
}

func hasType(events []*eventv1.Event, typ string) bool { return count(events, typ) > 0 }
