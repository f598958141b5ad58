package chaos

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"testing"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// viewer is a command in a process of its own that watches the log over all
// restarts of the server.
type viewer struct {
	lines []string
	ended chan error
	said  bytes.Buffer // on standard error
}

// view begins to watch and returns once the first event is seen.
func (j *job) view(t *testing.T) *viewer {
	t.Helper()
	v := &viewer{ended: make(chan error, 1)}
	cmd := j.server.Command(t, j.folder, "attach", j.session, "--json")
	cmd.Stderr = &v.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if v.lines = append(v.lines, lines.Text()); len(v.lines) == 1 {
				close(begun)
			}
		}
		v.ended <- cmd.Wait()
	}()
	select {
	case <-begun:
	case err := <-v.ended:
		t.Fatalf("the viewer ended with %v: %s", err, &v.said)
	}
	return v
}

// compare checks that the viewer saw the log, each event once and in order, and
// left with the turn's own outcome.
func (v *viewer) compare(t *testing.T, events []*eventv1.Event) {
	t.Helper()
	if err := <-v.ended; err != nil {
		t.Errorf("the viewer ended with %v: %s", err, &v.said)
	}
	for i, line := range v.lines {
		e := events[min(i, len(events)-1)]
		if !strings.Contains(line, `"seq":"`+strconv.FormatInt(e.GetSeq(), 10)+`"`) || !strings.Contains(line, `"type":"`+e.GetType()+`"`) {
			t.Fatalf("the viewer's line %d is not event %d, %s:\n%s", i+1, e.GetSeq(), e.GetType(), line)
		}
	}
	if last := events[len(v.lines)-1]; !isEnd(last) {
		t.Errorf("the viewer saw %d events, the last of them %s", len(v.lines), last.GetType())
	}
}
