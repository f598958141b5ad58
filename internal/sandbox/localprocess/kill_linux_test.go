package localprocess

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
)

const envVictim = "CADRE_TEST_VICTIM"

// victim is a server that starts and stops sandboxes, with a command in each that wants to
// stay, until it is killed.
func victim(dir string) {
	w := &world{data: filepath.Join(dir, "d"), sockets: &sockets{dir: filepath.Join(dir, "l"), open: map[sandbox.Key]*remote.Link{}}}
	ctx := context.Background()
	d, err := open(ctx, w.options())
	if err != nil {
		panic(err)
	}
	_, _ = os.Stderr.WriteString("begun\n")
	for n := range 3 {
		k := sandbox.Key{Scope: sandbox.Session, ID: "ses_" + strconv.Itoa(n)}
		go func() {
			for {
				if err := d.EnsureSession(ctx, k.ID, sandbox.NewEnv("q", "token", "user")); err != nil {
					panic(err)
				}
				w.mu.Lock()
				link := w.open[k]
				w.mu.Unlock()
				if ws, err := link.Open(ctx); err == nil {
					_, _ = ws.Start(ctx, workspace.Command{ID: "c" + strconv.Itoa(rand.Int()), Session: "s", Line: "setsid sh -c 'trap \"\" TERM HUP; exec sleep 98765' & sleep 98765"})
				}
				if n > 0 {
					_ = d.Stop(ctx, k)
				}
			}
		}()
	}
	select {}
}

// left are the processes, dead ones aside, that belong to sandboxes below a folder.
func left(dir string) (all []string) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range found {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(dir+"/sandboxes/")) {
			continue
		}
		all = append(all, filepath.Base(filepath.Dir(file)))
	}
	return all
}

// sleepers are the commands that wanted to stay.
func sleepers() (n int) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range found {
		if line, err := os.ReadFile(file); err == nil && bytes.Equal(line, []byte("sleep\x0098765\x00")) {
			n++
		}
	}
	return n
}

// A server that is killed at any instant leaves nothing that runs, at the latest when the
// next one has begun; the workspaces are kept.
func TestKilledServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.driver(t).Close(); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for n := range 30 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envVictim+"="+filepath.Dir(w.data))
		if path, err := program(); err == nil {
			cmd.Env = append(cmd.Env, "CADRE_HANDS="+path)
		}
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 6)
		if _, err := out.Read(said); err != nil || string(said) != "begun\n" {
			t.Fatalf("the victim says %q, %v", said, err)
		}
		<-time.NewTimer(time.Duration(random.IntN(400)) * time.Millisecond).C // any instant will do
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		d := w.driver(t)
		tick, late := time.NewTicker(5*time.Millisecond), time.After(5*time.Second)
		for len(left(w.data)) > 0 || sleepers() > 0 {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("kill %d: the processes %v and %d commands are left", n, left(w.data), sleepers())
			}
		}
		tick.Stop()
		if all, err := d.List(t.Context()); err != nil || len(all) > 3 {
			t.Errorf("kill %d: %v, %v", n, all, err)
		}
		for _, k := range []string{"ses_0", "ses_1", "ses_2"} {
			if state, err := d.Probe(t.Context(), sandbox.Key{Scope: sandbox.Session, ID: k}); err != nil || state == sandbox.Running {
				t.Errorf("kill %d: %s is %s, %v", n, k, state, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
