package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/test/built"
)

const (
	// cancelTime is how soon a cancel reaches a turn.
	cancelTime = 500 * time.Millisecond
	// goneTime is how soon nothing of a cancelled turn is alive.
	goneTime = 5 * time.Second
)

// Reliability line 10, and the promise of cancel: it reaches a turn that thinks and
// one that runs a command within half a second of its commit, and trees that hide in
// sessions of their own and ignore SIGTERM are gone when the turn says so.
func TestACancelArrivesAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	dir := t.TempDir()
	wild := `trap '' TERM; (setsid sh -c 'trap "" TERM; echo $$ >>pids; sleep 1000; sleep 1000' &); nohup sleep 1000 >/dev/null 2>&1 & ` +
		`echo $$ >>pids; while [ $(wc -l <pids) -lt 2 ]; do sleep 0.05; done; touch ready; sleep 1000; sleep 1000`
	declare(t, s, "thinker", dir, "steps:\n  - {text: Thinking., delay: 600s}\n", "list")
	declare(t, s, "wild", dir, fmt.Sprintf("steps:\n  - tools: [{name: shell, args: {command: %q}}]\n  - text: Never.\n", wild), "shell")
	for i, agent := range []string{"thinker", "wild", "thinker", "wild", "wild"} {
		folder := filepath.Join(dir, fmt.Sprintf("%s-%d", agent, i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		session, execution := run(t, s, agent, folder)
		s.AwaitType(t, session, "agent.model.request", 1)
		if agent == "wild" {
			awaitFile(t, filepath.Join(folder, "ready"))
		}
		if _, err := s.Sessions().Cancel(t.Context(), connect.NewRequest(&sessionv1.CancelRequest{Id: execution})); err != nil {
			t.Fatal(err)
		}
		log := s.AwaitType(t, session, "turn.cancelled", 1)
		left := alive(t, folder)
		if len(left) > 0 {
			t.Errorf("%s says cancelled while %v are alive", agent, left)
		}
		asked, ended := at(t, log, "turn.cancel.requested"), at(t, log, "turn.cancelled")
		bound := cancelTime
		if agent == "wild" {
			bound = goneTime
		}
		if took := ended.Sub(asked); took > bound {
			t.Errorf("the cancel of %s took %s", agent, took)
		}
	}
}

// at is when an event of a type happened.
func at(t *testing.T, log []*eventv1.Event, typ string) time.Time {
	t.Helper()
	for _, e := range log {
		if e.GetType() == typ {
			return e.GetOccurredAt().AsTime()
		}
	}
	t.Fatalf("the log has no %s", typ)
	return time.Time{}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.NewTimer(10 * time.Millisecond).C {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not appear", path)
		}
	}
}

// alive are the processes whose working directory is dir, where the system tells.
func alive(t *testing.T, dir string) (all []string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && at == real {
			all = append(all, filepath.Base(filepath.Dir(link)))
		}
	}
	return all
}
