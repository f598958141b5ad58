package chaos

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// viewer is a command in a process of its own that watches the log over all
// restarts of the server.
type viewer struct {
	cmd   *exec.Cmd
	ended chan error
	said  bytes.Buffer // on standard error

	mu    sync.Mutex
	lines []string
}

// view begins to watch and returns once the first event is seen.
func (j *job) view(t *testing.T) *viewer {
	t.Helper()
	v := &viewer{ended: make(chan error, 1)}
	v.cmd = j.server.Command(t, j.folder, "events", j.session, "-f", "--json")
	v.cmd.Stderr = &v.said
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			v.mu.Lock()
			v.lines = append(v.lines, lines.Text())
			v.mu.Unlock()
		}
		v.ended <- v.cmd.Wait()
	}()
	v.await(t, 1)
	return v
}

// await waits until so many events were seen, and answers them.
func (v *viewer) await(t *testing.T, n int) []string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.NewTimer(10 * time.Millisecond).C {
		v.mu.Lock()
		lines := v.lines
		v.mu.Unlock()
		if len(lines) >= n {
			return lines
		}
		if time.Now().After(end) {
			t.Fatalf("the viewer saw %d events of %d: %s", len(lines), n, &v.said)
		}
	}
}

// compare checks that the viewer saw the log, each event once and in order.
func (v *viewer) compare(t *testing.T, events []*eventv1.Event) {
	t.Helper()
	v.await(t, len(events))
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-v.ended; err != nil {
		t.Errorf("the viewer ended with %v: %s", err, &v.said)
	}
	if len(v.lines) != len(events) {
		t.Errorf("the viewer saw %d events, the log has %d", len(v.lines), len(events))
	}
	for i, line := range v.lines {
		e := events[min(i, len(events)-1)]
		if !strings.Contains(line, `"seq":"`+strconv.FormatInt(e.GetSeq(), 10)+`"`) || !strings.Contains(line, `"type":"`+e.GetType()+`"`) {
			t.Fatalf("the viewer's line %d is not event %d, %s:\n%s", i+1, e.GetSeq(), e.GetType(), line)
		}
	}
}
