package turn_test

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
)

// T79, T80
func TestEachRequestIsAdmittedThenCheckpointedThenSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = replies(
		[]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(10, 1)},
		[]model.Part{text("done"), end(20, 2)},
	)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"checkpoint 1", "bytes 1", "usage 1", "checkpoint 2", "bytes 2", "usage 2"}
	if !slices.Equal(w.steps, want) {
		t.Fatalf("got %v, want %v", w.steps, want)
	}
	if u := w.status().GetUsage(); u.GetInputTokens() != 30 || u.GetOutputTokens() != 3 {
		t.Fatalf("usage is %v, want 30 in and 3 out", u)
	}
}

// T79
func TestARefusedAdmissionSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.limits = &agentv1.AgentLimits{MaxModelCalls: 1}
	w.play = replies([]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(1, 1)})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"checkpoint 1", "bytes 1", "usage 1"}; !slices.Equal(w.steps, want) {
		t.Fatalf("got %v, want %v", w.steps, want)
	}
	if got := w.last("turn.completed").GetTurnCompleted().GetSegmentLimit(); got != "max_model_calls" {
		t.Fatalf("segment limit is %q, want max_model_calls", got)
	}
}

// T32
func TestACancelledTurnSettlesCancelledAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.play = func(ctx context.Context, _ model.Request) iter.Seq2[model.Part, error] {
		return func(yield func(model.Part, error) bool) {
			yield(text("thinking"), nil)
			cancel(turn.ErrCancelled)
			<-ctx.Done()
			yield(model.Part{}, context.Cause(ctx))
		}
	}
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	if w.count("turn.cancelled") != 1 || w.count("turn.failed")+w.count("turn.completed") != 0 {
		t.Fatalf("the log ends in %v, want turn.cancelled alone", w.types())
	}
	if got := w.status().GetPhase(); got != agentexecutionv1.ExecutionPhase_cancelled {
		t.Fatalf("the execution is %s, want cancelled", got)
	}
	if w.count("agent.message.delta") != 1 {
		t.Fatal("the text that was shown did not become durable")
	}
}

// T33
func TestEventsAreDurableBeforeTheyAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = replies([]model.Part{text("hello"), end(1, 1)})
	type seen struct{ seq, stored int64 }
	var all []seen
	w.store.OnCommit(func(events []*eventv1.Event) {
		// Another connection reads what is on the disk now.
		st, err := w.store.Session(context.Background(), events[0].GetSessionId())
		if err != nil {
			t.Error(err)
		}
		all = append(all, seen{events[len(events)-1].GetSeq(), st.LastSeq})
		panic("a publisher that fails") // changes nothing
	})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("nothing was published")
	}
	for _, s := range all {
		if s.stored < s.seq {
			t.Fatalf("event %d was published while the store had %d", s.seq, s.stored)
		}
	}
	if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_completed {
		t.Fatal("a failing publisher changed the outcome")
	}
}

func TestAStoppingServerGivesTheTurnBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancelCause(t.Context())
	w.play = func(ctx context.Context, _ model.Request) iter.Seq2[model.Part, error] {
		return func(yield func(model.Part, error) bool) {
			stop(engine.ErrStopping)
			<-ctx.Done()
			yield(model.Part{}, context.Cause(ctx))
		}
	}
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	live, err := w.store.LiveAttempts(t.Context())
	if err != nil || len(live) != 0 {
		t.Fatalf("live attempts: %v, %v; want none", live, err)
	}
	w.play = replies([]model.Part{text("again"), end(1, 1)})
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.count("turn.completed") != 1 || w.count("turn.recovery.requested") != 1 {
		t.Fatalf("the log is %v, want one recovery and one completion", w.types())
	}
	if u := w.status().GetUsage(); !u.GetEstimated() {
		t.Fatal("the request whose answer nobody saw was not booked at its hold")
	}
}

func TestAFencedAttemptWritesNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accept("go on")
	old := w.claim("")
	w.play = func(context.Context, model.Request) iter.Seq2[model.Part, error] {
		return func(yield func(model.Part, error) bool) {
			w.claim(old.Attempt) // another attempt takes over meanwhile
			_ = yield(text("late"), nil) && yield(end(1, 1), nil)
		}
	}
	if err := turn.Run(t.Context(), w, old, turn.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.events() {
		late := e.GetAttemptId() == old.Attempt && e.GetGeneration() == old.Generation
		if e.GetType() == "agent.message.completed" && (!late || e.GetAssociation() != eventv1.Association_late_rejected) {
			t.Fatalf("the late answer is %v, want it kept as late_rejected", e)
		}
	}
	if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_running || w.count("turn.completed") != 0 {
		t.Fatal("a fenced attempt settled the turn")
	}
}

func TestAFileEditThatHappenedIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		content   string // of the file when the second attempt looks
		want      string
		recovered bool
		waiting   bool
	}{
		"done before the crash":     {"one\ntwo\n", "one\ntwo\n", true, false},
		"not done before the crash": {"one\n", "one\ntwo\n", false, false},
		"changed by somebody else":  {"three\n", "three\n", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			file := filepath.Join(w.folder, "a.txt")
			if err := os.WriteFile(file, []byte("one\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			w.play = replies(
				[]model.Part{call("c1", "edit", `{"path":"a.txt","old_text":"one\n","new_text":"one\ntwo\n"}`), end(1, 1)},
				[]model.Part{text("edited"), end(1, 1)},
			)
			w.accept("edit it")
			first := w.claim("")
			crash := &crashing{Store: w.store, at: "finish"}
			if err := turn.Run(t.Context(), &crashingWorld{w, crash}, first, impatient); err == nil {
				t.Fatal("the attempt did not crash")
			}
			if err := os.WriteFile(file, []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := turn.Run(t.Context(), w, w.claim(first.Attempt), turn.Options{}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil || string(got) != tc.want {
				t.Fatalf("the file is %q (%v), want %q", got, err, tc.want)
			}
			if tc.waiting {
				if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_waiting || st.GetWaitingFor() != "outcome_unknown" {
					t.Fatalf("the execution is %v, want it to wait for outcome_unknown", st)
				}
				w.last("agent.tool.outcome_unknown")
				return
			}
			if e := w.last("agent.tool.completed").GetAgentToolCompleted(); e.GetRecovered() != tc.recovered || e.GetCallId() != "c1" {
				t.Fatalf("the call is %v, want recovered=%v under the same id", e, tc.recovered)
			}
			if w.count("agent.tool.completed") != 1 || w.count("turn.completed") != 1 {
				t.Fatalf("the log is %v, want one completed call and one completed turn", w.types())
			}
		})
	}
}

func TestABlankReplyAfterToolsIsAskedForOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		second string
		limit  string
	}{
		"answered": {"I read the file.", ""},
		"blank":    {" \n", "empty_final_reply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.play = replies(
				[]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(1, 1)},
				[]model.Part{end(1, 1)},
				[]model.Part{text(tc.second), end(1, 1)},
			)
			if err := w.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			done := w.last("turn.completed").GetTurnCompleted()
			if done.GetSegmentLimit() != tc.limit || done.GetModelCalls() != 3 {
				t.Fatalf("the turn ended with %v, want limit %q after 3 calls", done, tc.limit)
			}
		})
	}
}

func TestAProviderFailureEndsTheTurnWithItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = func(context.Context, model.Request) iter.Seq2[model.Part, error] {
		return func(yield func(model.Part, error) bool) {
			_ = yield(text("half"), nil) && yield(model.Part{}, &model.Error{Category: model.RateLimited, Status: 429, Message: "slow down"})
		}
	}
	w.opt.Recovery = failFast
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := w.last("turn.failed").GetTurnFailed().GetError()
	if f.GetCode() != "provider_rate_limited" || !f.GetRetryable() || f.GetDetail() != "slow down" {
		t.Fatalf("the failure is %v", f)
	}
	if u := w.status().GetUsage(); !u.GetEstimated() {
		t.Fatal("the request without an answer was not booked at its hold")
	}
}

func TestARequestThatWasTurnedDownCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = func(context.Context, model.Request) iter.Seq2[model.Part, error] {
		return func(yield func(model.Part, error) bool) {
			yield(model.Part{}, &model.Error{Category: model.Authentication, Status: 401})
		}
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u := w.status().GetUsage(); u.GetInputTokens() != 0 || u.GetOutputTokens() != 0 || u.GetEstimated() {
		t.Fatalf("the refused request was booked as %v", u)
	}
}

func TestABlankReplyWithoutToolsIsToldAsALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = replies([]model.Part{text(" \n"), end(1, 1)})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done := w.last("turn.completed").GetTurnCompleted(); done.GetSegmentLimit() != "empty_final_reply" || done.GetModelCalls() != 1 {
		t.Fatalf("the turn ended with %v", done)
	}
}

func TestAStreamWithoutAnEndIsMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opt.Recovery = failFast
	w.play = replies([]model.Part{text("cut")})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.last("turn.failed").GetTurnFailed().GetError().GetCode(); got != "provider_response_malformed" {
		t.Fatalf("the code is %s", got)
	}
}

func TestTextIsShownAtOnceAndStoredInPieces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var parts []model.Part
	for range 1000 {
		parts = append(parts, text("0123456789"))
	}
	w.play = replies(append(parts, end(1, 1)))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.shown) != 1000 {
		t.Fatalf("%d pieces were shown, want 1000", len(w.shown))
	}
	var stored strings.Builder
	for _, e := range w.events() {
		if d := e.GetAgentMessageDelta(); d != nil {
			if d.GetOffset() != int64(stored.Len()) {
				t.Fatalf("a delta begins at %d, want %d", d.GetOffset(), stored.Len())
			}
			stored.WriteString(d.GetText())
		}
	}
	want := strings.Repeat("0123456789", 1000)
	if stored.String() != want || w.last("agent.message.completed").GetAgentMessageCompleted().GetText() != want {
		t.Fatal("the durable deltas are not the answer's text")
	}
	if n := w.count("agent.message.delta"); n < 2 || n > 100 {
		t.Fatalf("%d durable deltas for 10 000 bytes in 1 000 pieces", n)
	}
}

func TestALargeResultBecomesAnArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := "HEAD" + strings.Repeat("x", 100<<10) + "TAIL"
	w.tools["read"] = fixed{"read", content}
	w.play = replies(
		[]model.Part{call("c1", "read", `{}`), end(1, 1)},
		[]model.Part{text("seen"), end(1, 1)},
	)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := w.last("agent.tool.completed").GetAgentToolCompleted()
	if e.GetArtifactId() == "" || len(e.GetResult()) > 64<<10 || !strings.HasPrefix(e.GetResult(), "HEAD") || !strings.HasSuffix(e.GetResult(), "TAIL") {
		t.Fatalf("the result has %d bytes and the artifact %q", len(e.GetResult()), e.GetArtifactId())
	}
	kept, err := w.artifacts.Open(t.Context(), w.last("artifact.created").GetArtifactCreated().GetSha256())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	if data, err := io.ReadAll(kept); err != nil || string(data) != content {
		t.Fatalf("the artifact holds %d bytes (%v), want %d", len(data), err, len(content))
	}
}

func TestReadOnlyCallsRunTogetherAndOthersInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	meet := make(chan struct{})
	w.tools["read"] = meeting{meet}
	w.play = replies(
		[]model.Part{call("c1", "read", `{}`), call("c2", "read", `{}`), end(1, 1)},
		[]model.Part{call("w1", "write", `{"path":"a","content":"1"}`), call("w2", "write", `{"path":"a","content":"2"}`), end(1, 1)},
		[]model.Part{text("ok"), end(1, 1)},
	)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := w.run(ctx); err != nil { // the two reads wait for each other
		t.Fatal(err)
	}
	var ids []string
	for _, e := range w.events() {
		if c := e.GetAgentToolCompleted(); c != nil {
			ids = append(ids, c.GetCallId())
		}
	}
	if want := []string{"c1", "c2", "w1", "w2"}; !slices.Equal(ids, want) {
		t.Fatalf("calls were recorded as %v, want %v", ids, want)
	}
	if data, err := os.ReadFile(filepath.Join(w.folder, "a")); err != nil || string(data) != "2" {
		t.Fatalf("the file is %q (%v), want the second write", data, err)
	}
}

func TestARepeatedCallIDGetsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tools["read"] = fixed{"read", "x"}
	w.play = replies(
		[]model.Part{call("same", "read", `{}`), end(1, 1)},
		[]model.Part{call("same", "read", `{}`), end(1, 1)},
		[]model.Part{text("ok"), end(1, 1)},
	)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count("agent.tool.completed"); n != 2 {
		t.Fatalf("%d calls completed, want 2: %v", n, w.types())
	}
}

// crashing fails one step of the ledger, as the end of the process would.
type crashing struct {
	store.Store
	at string
}

func (c *crashing) FinishTools(ctx context.Context, f store.Fence, r []store.ToolFinish) error {
	if c.at == "finish" {
		return storeDown
	}
	return c.Store.FinishTools(ctx, f, r)
}

type crashingWorld struct {
	*world
	crash *crashing
}

func (c *crashingWorld) Ledger() turn.Ledger { return c.crash }

// A request whose bytes never left costs nothing, whatever was held for it.
func TestARequestThatNeverLeftCostsNothing(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		w := newWorld(t)
		w.play = func(_ context.Context, req model.Request) iter.Seq2[model.Part, error] {
			return func(yield func(model.Part, error) bool) {
				if left {
					req.Sent()
				}
				yield(model.Part{}, &model.Error{Category: model.Network, Message: "connection refused"})
			}
		}
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if used := w.status().GetUsage().GetOutputTokens() > 0; used != left {
			t.Errorf("its bytes left: %t, and it is booked at %v", left, w.status().GetUsage())
		}
	}
}
