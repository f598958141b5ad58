package turn_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn"
)

// talk is a world whose model reads a file of some size in each of its first steps and notes
// each request that it gets.
type talk struct {
	*world
	asked     []model.Request
	reads     int                                               // steps with a call
	compact   func(req model.Request) parts                     // answers requests for a shorter history
	refuse    func(req model.Request) error                     // is asked before each request
	closing   func(context.Context, model.Request) []model.Part // the answer behind the last call; nil says done
	summaries int
}

func newTalk(t *testing.T, reads int) *talk {
	t.Helper()
	k := &talk{world: newWorld(t), reads: reads}
	k.play = k.answer
	if err := os.WriteFile(filepath.Join(k.folder, "a.txt"), []byte(strings.Repeat("words of a file\n", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

func said(all ...model.Part) parts {
	return func(yield func(model.Part, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func (k *talk) answer(ctx context.Context, req model.Request) parts {
	k.asked = append(k.asked, req)
	req.Sent()
	if k.refuse != nil {
		if err := k.refuse(req); err != nil {
			return failing(err)
		}
	}
	if req.Compaction {
		k.summaries++
		if k.compact != nil {
			return k.compact(req)
		}
		return said(text("What came so far."), end(int64(bytesOf(req)/4), 5))
	}
	done := 0
	for _, item := range req.History {
		done += int(item.GetDeveloper().GetSummary().GetAnswers())
		if item.GetAssistant() != nil {
			done++
		}
	}
	if done < k.reads {
		return said(call("", "read", `{"path":"a.txt"}`), end(int64(bytesOf(req)/4), 5))
	}
	if k.closing != nil {
		return said(k.closing(ctx, req)...)
	}
	return said(text("done"), end(1, 1))
}

func bytesOf(req model.Request) (n int) {
	for _, item := range req.History {
		n += len(item.GetUser().GetText()) + len(item.GetDeveloper().GetText()) + len(item.GetToolResult().GetText())
	}
	return n
}

// history is what the next claim is given.
func (k *talk) historyNow() []*messagev1.Item {
	k.t.Helper()
	k.again("and then?")
	return k.claim("").History
}

// window bounds a request like a provider.
func window(bytes int) func(model.Request) error {
	return func(req model.Request) error {
		if bytesOf(req) <= bytes {
			return nil
		}
		return &model.Error{Category: model.ContextTooLong, Status: 400, Message: "prompt is too long"}
	}
}

// A history that comes near to the window is replaced by the task, a summary and what the
// running turn needs; the turn goes on with it and all requests are booked.
func TestAHistoryNearTheWindowIsReplaced(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 6)
	k.window = 4000
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.count("turn.completed") != 1 || k.summaries == 0 || k.count("context.compacted") != k.summaries {
		t.Fatalf("with %d summaries the log is %v, the status %v", k.summaries, k.types(), k.status())
	}
	e := k.last("context.compacted").GetContextCompacted()
	if e.GetReason() != "window" || e.GetBeforeTokens() < 3600 || e.GetAfterTokens() >= e.GetBeforeTokens() || e.GetKeptItems() != 3 {
		t.Errorf("it says %v", e)
	}
	if n := k.count("agent.tool.completed"); n != 6 {
		t.Errorf("%d calls ran, want 6", n)
	}
	if got := k.count("agent.model.usage"); got != len(k.asked) {
		t.Errorf("%d requests are booked of %d", got, len(k.asked))
	}
	h := k.historyNow()
	if h[0].GetUser().GetText() != "go on" || h[1].GetDeveloper().GetSummary() == nil || !strings.Contains(h[1].GetDeveloper().GetText(), "What came so far.") {
		t.Errorf("the history begins with %v", h[:2])
	}
	paired(t, h)
	for _, item := range k.events() {
		if strings.Contains(item.GetAgentMessageDelta().GetText(), "What came") {
			t.Error("the summary is shown as an answer")
		}
	}
}

// paired fails where a call has no result behind it, or a result no call.
func paired(t *testing.T, history []*messagev1.Item) {
	t.Helper()
	open := map[string]bool{}
	for _, item := range history {
		if r := item.GetToolResult(); r != nil {
			if !open[r.GetCallId()] {
				t.Errorf("the result of %s has no call", r.GetCallId())
			}
			delete(open, r.GetCallId())
		} else if len(open) > 0 {
			t.Errorf("the calls %v have no result", open)
		}
		for _, p := range item.GetAssistant().GetParts() {
			if c := p.GetToolCall(); c != nil {
				open[c.GetId()] = true
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("the calls %v have no result", open)
	}
}

// Between compactions each request begins with the bytes of the one before; and what is asked
// to be summarised is that very history, with the same instructions and tools. T61
func TestRequestsKeepTheirBeginnings(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 40)
	k.window = 20_000
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.summaries < 2 {
		t.Fatalf("%d summaries were asked for, want some", k.summaries)
	}
	for i, req := range k.asked[1:] {
		before := k.asked[i]
		if req.Instructions != before.Instructions || !slices.EqualFunc(req.Tools, before.Tools, func(a, b model.ToolSpec) bool {
			return a.Name == b.Name && a.Description == b.Description && string(a.Schema) == string(b.Schema)
		}) {
			t.Errorf("request %d has other instructions or tools than the one before", i+2)
		}
		if before.Compaction {
			continue // the history is another one now
		}
		for n, item := range before.History {
			if req.History[n].String() != item.String() {
				t.Errorf("request %d differs from the one before at item %d", i+2, n)
			}
		}
	}
}

// An overflow leads to a shorter history, once; the same turn goes on.
func TestAnOverflowIsCompactedOnce(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 4)
	k.refuse = window(11_000)
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.count("turn.completed") != 1 || k.last("context.compacted").GetContextCompacted().GetReason() != "overflow" {
		t.Fatalf("the log is %v, the status %v", k.types(), k.status())
	}

	// What still overflows fails, and is not compacted again.
	k = newTalk(t, 4)
	k.refuse = func(req model.Request) error {
		if req.Compaction || len(req.History) < 6 && len(k.asked) < 5 {
			return nil
		}
		return &model.Error{Category: model.ContextTooLong, Status: 400, Message: "prompt is too long"}
	}
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.summaries != 1 || k.status().GetError().GetCode() != "context_too_long" {
		t.Errorf("after %d summaries the turn is %v", k.summaries, k.status())
	}
}

// A safety refusal never starts a compaction, whatever its text says. T5
func TestARefusalIsNoOverflow(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 3)
	k.refuse = func(req model.Request) error {
		if len(req.History) < 5 {
			return nil
		}
		return &model.Error{Category: model.Refused, Status: 500, Message: "maximum context length exceeded"}
	}
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.summaries != 0 || k.status().GetError().GetCode() != "provider_safety_refusal" {
		t.Errorf("after %d summaries the turn is %v", k.summaries, k.status())
	}
}

// Providers may give a call's id again; what was compacted away is not forgotten.
func TestIDsOfCallsThatWereTakenOutStayTaken(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 8)
	k.window = 4000
	inner := k.play
	k.play = func(ctx context.Context, req model.Request) parts {
		return func(yield func(model.Part, error) bool) {
			for p, err := range inner(ctx, req) {
				if p.ToolCall != nil {
					p.ToolCall.Id = "same"
				}
				if !yield(p, err) {
					return
				}
			}
		}
	}
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.count("turn.completed") != 1 || k.count("agent.tool.completed") != 8 {
		t.Errorf("the log is %v, the status %v", k.types(), k.status())
	}
}

// A summary that is empty or not shorter is booked and nothing else: the history stays.
func TestWhatIsNotShorterIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"empty": " \n", "long": strings.Repeat("long", 10_000)} {
		k := newTalk(t, 6)
		k.window = 4000
		k.compact = func(model.Request) parts { return said(text(answer), end(7, 5)) }
		if err := k.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := k.status().GetError(); got.GetCode() != "context_compaction_failed" || got.GetRetryable() {
			t.Errorf("%s: the turn ended with %v", name, got)
		}
		if k.count("context.compacted") != 0 || k.count("agent.model.usage") != len(k.asked) {
			t.Errorf("%s: the log is %v", name, k.types())
		}
		for _, item := range k.historyNow() {
			if item.GetDeveloper().GetSummary() != nil {
				t.Errorf("%s: the history was replaced", name)
			}
		}
	}
}

// Trouble of the request itself passes: the turn waits and asks again.
func TestACompactionThatFailsIsDelayed(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 6)
	k.window = 4000
	fails := 1
	k.compact = func(model.Request) parts {
		if fails--; fails >= 0 {
			return failing(&model.Error{Category: model.Overloaded, Status: 529, Message: "busy"})
		}
		return said(text("Short."), end(7, 5))
	}
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := k.waits("provider"); told.GetError().GetCode() != "context_compaction_delayed" || told.GetRecoveries() != 15 {
		t.Errorf("it waits with %v", told)
	}
	k.goOn(t.Context())
	if k.count("turn.completed") != 1 || k.count("context.compacted") == 0 {
		t.Errorf("the log is %v", k.types())
	}
}

// A model that answers nothing after a compaction, in a turn with nothing to hand over, is asked
// again; the empty answer is no part of the history.
func TestAnEmptyContinuationIsAskedAgain(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	blanks := 1
	k.closing = func(context.Context, model.Request) []model.Part {
		if blanks--; blanks >= 0 && k.summaries > 0 {
			return []model.Part{end(3, 0)}
		}
		return []model.Part{text(strings.Repeat("long answer ", 700)), end(int64(900), 2000)}
	}
	if err := k.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.window, blanks = 3000, 1
	k.again("and now?")
	if err := turn.Run(t.Context(), k, k.claim(""), k.opt); err != nil {
		t.Fatal(err)
	}
	if told := k.waits("provider"); told.GetError().GetCode() != "post_compaction_continuation_empty" || !told.GetError().GetRetryable() {
		t.Fatalf("it waits with %v", told)
	}
	k.goOn(t.Context())
	if k.count("turn.completed") != 2 || k.summaries != 1 {
		t.Errorf("after %d summaries the log is %v", k.summaries, k.types())
	}
}
