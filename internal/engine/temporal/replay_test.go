package temporal

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/cadre-dev/cadre/internal/engine"
)

var update = flag.Bool("update", false, "record the histories anew; do so only for a shape that was never released")

const histories = "testdata/histories"

// TestHistoriesReplay replays every history that a released program may have left.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	if *update {
		recordHistory(t)
	}
	files, err := filepath.Glob(filepath.Join(histories, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	processOnce.Do(setProcess)
	for _, file := range files {
		r := worker.NewWorkflowReplayer()
		h := &host{timing: engine.Timing{}.WithDefaults()}
		r.RegisterWorkflowWithOptions(h.session, workflow.RegisterOptions{Name: sessionWorkflow})
		if err := r.ReplayWorkflowHistoryFromJSONFile(clientLines{newLines(slog.New(slog.DiscardHandler))}, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestNamesArePinned fails when a name changes that histories hold.
func TestNamesArePinned(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		namespace:        "cadre",
		taskQueue:        "cadre_control",
		sessionWorkflow:  "cadre.session.v1",
		peekActivity:     "cadre.session.peek.v1",
		attemptActivity:  "cadre.session.attempt.v1",
		interruptAct:     "cadre.session.interrupt.v1",
		wakeSignal:       "wake",
		workflowID("x"):  "session/x",
		failureUnsettled: "cadre.unsettled",
		failureAbandoned: "cadre.abandoned",
		failureHandler:   "cadre.handler",
	} {
		if got != want {
			t.Errorf("a pinned name is %q; want %q", got, want)
		}
	}
}

// script is handlers that lead a session through every verb and every failure.
type script struct{ done chan struct{} }

func (s script) Peek(_ context.Context, _ string) (engine.Decision, error) {
	step := <-steps
	switch step {
	case "error":
		return engine.Decision{}, errors.New("on purpose")
	case "idle":
		return engine.Decision{Verb: engine.Idle, Revision: 1}, nil
	case "stale":
		return engine.Decision{Verb: engine.Idle}, nil
	case "wait":
		return engine.Decision{Verb: engine.WaitUntil, Until: time.Now().Add(30 * time.Millisecond), Revision: 1}, nil
	case "close":
		close(s.done)
		return engine.Decision{Verb: engine.Idle, Revision: 1}, nil
	default:
		return engine.Decision{Verb: engine.Verb(step), Execution: "exe_1", Attempt: "att_1", Revision: 1}, nil
	}
}

// steps are what the peeks of the script answer.
var steps = func() chan string {
	all := []string{"run", "run", "run", "error", "error", "interrupt", "interrupt", "wait", "stale", "unheard_of", "run", "idle", "close"}
	c := make(chan string, len(all))
	for _, step := range all {
		c <- step
	}
	return c
}()

func (script) Run(_ context.Context, a engine.Attempt) error {
	a.Heartbeat()
	if len(steps) > 10 {
		return errors.New("on purpose")
	}
	return nil
}

func (script) Connected(context.Context, string) {}
func (script) Interrupt(context.Context, string, string) error {
	if len(steps) > 6 {
		return errors.New("on purpose")
	}
	return nil
}

func recordHistory(t *testing.T) {
	t.Helper()
	d := newDriver(Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Timing: timing})
	t.Cleanup(func() { halt(t, d) })
	s := script{done: make(chan struct{})}
	begin(t, d, s)
	if err := d.Wake(t.Context(), "ses_1", 1); err != nil {
		t.Fatal(err)
	}
	<-s.done
	c := d.live.Load().client
	if err := c.GetWorkflow(t.Context(), workflowID("ses_1"), "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var h historypb.History
	events := c.GetWorkflowHistory(t.Context(), workflowID("ses_1"), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, event)
	}
	raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(histories, 0o755); err != nil {
		t.Fatal(err)
	}
	if host, err := os.Hostname(); err == nil {
		raw = bytes.ReplaceAll(raw, []byte(`"`+host+`:`), []byte(`"host:`))
	}
	if err := os.WriteFile(filepath.Join(histories, "session_v1_all_verbs.json"), append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
