package chat

import (
	"strings"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

func answersOf(x *turn) string {
	var all []string
	for _, e := range x.entries {
		if e.kind == answerEntry {
			all = append(all, e.answer.text())
		}
	}
	return strings.Join(all, "|")
}

func TestTextIsShownAsItComesAndReplacedByWhatIsDurable(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	steps := []struct {
		name string
		step any
		want string
	}{
		{"a first piece", preview("aex_1", 1, 0, "Good "), "Good "},
		{"the same piece again", preview("aex_1", 1, 0, "Good "), "Good "},
		{"one that overlaps", preview("aex_1", 1, 3, "d morn"), "Good morn"},
		{"one behind a gap waits", preview("aex_1", 1, 20, "lost"), "Good morn"},
		{"durable covers a part", l.event("aex_1", delta(1, 0, "Good ")), "Good morn"},
		{"durable fills the gap", l.event("aex_1", delta(1, 5, "morning, wor")), "Good morning, wor"},
		{"the next piece", preview("aex_1", 1, 17, "ld"), "Good morning, world"},
		{"a late piece of the beginning", preview("aex_1", 1, 0, "Good"), "Good morning, world"},
		{"durable that differs wins", l.event("aex_1", delta(1, 17, "k!")), "Good morning, work!"},
		{"the whole text", l.event("aex_1", whole(1, "Good morning, work!")), "Good morning, work!"},
		{"a piece after the end", preview("aex_1", 1, 19, "??"), "Good morning, work!"},
		{"another request", preview("aex_1", 2, 0, "Next"), "Good morning, work!|Next"},
		{"a turn that nobody knows", preview("aex_9", 1, 0, "?"), "Good morning, work!|Next"},
	}
	for _, s := range steps {
		l.take(s.step)
		if got := answersOf(l.turns["aex_1"]); got != s.want {
			t.Fatalf("%s: got %q, want %q", s.name, got, s.want)
		}
	}
}

func TestANewAttemptVoidsWhatWasNeverDurable(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	l.take(l.event("aex_1", delta(1, 0, "kept")))
	l.take(preview("aex_1", 1, 4, " and shown"))
	again := l.event("aex_1", &eventv1.TurnRecoveryRequested{Reason: "attempt_lost", LostGeneration: 1})
	again.Generation = 2
	l.take(again)
	x := l.turns["aex_1"]
	if got := answersOf(x); got != "kept" {
		t.Errorf("got %q", got)
	}
	l.take(preview("aex_1", 1, 4, " of the lost attempt")) // generation 1
	next := preview("aex_1", 2, 0, "anew")
	next.Generation = 2
	l.take(next)
	if got := answersOf(x); got != "kept|anew" {
		t.Errorf("got %q", got)
	}
	if x.phase != running || !strings.Contains(notes(x), "attempt 1 was lost") {
		t.Errorf("phase %s, notes %q", x.phase, notes(x))
	}
}

func TestNoEventCountsTwiceAndEvidenceIsNotShown(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	e := l.event("aex_1", &eventv1.AgentModelUsage{Call: 1, Usage: &messagev1.Usage{InputTokens: 7}})
	l.take(e)
	l.take(e)
	if n := l.spent().GetInputTokens(); n != 7 {
		t.Errorf("%d tokens", n)
	}
	late := l.event("aex_1", whole(1, "from a lost attempt"))
	late.Association = eventv1.Association_late_rejected
	l.take(late)
	if got := answersOf(l.turns["aex_1"]); got != "" {
		t.Errorf("evidence is shown: %q", got)
	}
	if l.seq != late.GetSeq() {
		t.Errorf("the place is %d, want %d", l.seq, late.GetSeq())
	}
}

func TestTheQueue(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "first")
	for _, id := range []string{"aex_2", "aex_3"} {
		l.take(l.event(id, &eventv1.InputQueued{Text: id}))
		l.take(l.event(id, &eventv1.TurnQueued{}))
	}
	if line := l.line(); len(line) != 2 || line[0].id != "aex_2" || l.now().id != "aex_1" {
		t.Fatalf("line %v", line)
	}
	l.take(l.event("aex_3", &eventv1.TurnCancelRequested{}))
	l.take(l.event("aex_3", &eventv1.InputRemoved{}))
	l.take(l.event("aex_3", &eventv1.TurnCancelled{}))
	if x := l.turns["aex_3"]; x.phase != removed || len(l.line()) != 1 {
		t.Errorf("phase %s, line %d", x.phase, len(l.line()))
	}
	l.take(l.event("aex_1", &eventv1.TurnCompleted{}))
	l.take(l.event("aex_2", &eventv1.TurnStarted{}))
	if l.now().id != "aex_2" || len(l.line()) != 0 {
		t.Errorf("now %v", l.now())
	}
	if got := strings.Join(l.history(), ","); got != "first,aex_2,aex_3" {
		t.Errorf("history %s", got)
	}
}

func TestHowTurnsEnd(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		event any
		phase phase
		note  string
	}{
		{"completed", &eventv1.TurnCompleted{}, completed, ""},
		{"cut short", &eventv1.TurnCompleted{SegmentLimit: "max_model_calls"}, completed, "cut short by max_model_calls"},
		{"failed", &eventv1.TurnFailed{Error: execError("quota", "the quota is used up", false)}, failed, "the quota is used up (quota)"},
		{"failed, worth another try", &eventv1.TurnFailed{Error: execError("overload", "busy", true)}, failed, "/recover tries"},
		{"cancelled", &eventv1.TurnCancelled{Reason: "interrupted"}, cancelled, "interrupted"},
		{"cancel asked", &eventv1.TurnCancelRequested{}, cancelling, ""},
		{"cancelling", &eventv1.TurnCancelling{Unconfirmed: []string{"42 sleep"}}, cancelling, "42 sleep"},
		{"waiting", &eventv1.TurnWaiting{WaitingFor: "outcome_unknown"}, waiting, "/recover"},
		{"shortened", &eventv1.ContextCompacted{BeforeTokens: 900, AfterTokens: 90, Reason: "window"}, running, "shortened for the model, from about 900 to 90 tokens (window)"},
		{"waiting to be tried again", &eventv1.TurnWaiting{WaitingFor: "provider", Error: execError("overload", "busy", true), Recovery: 2, Recoveries: 15}, waiting, "waiting for the provider: busy (overload); try 2 of 15 comes then"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLog()
			l.begin("aex_1", "hello")
			l.take(preview("aex_1", 1, 0, "not durable"))
			l.take(l.event("aex_1", c.event))
			x := l.turns["aex_1"]
			if x.phase != c.phase || !strings.Contains(notes(x), c.note) {
				t.Errorf("phase %s, notes %q", x.phase, notes(x))
			}
			if !x.open() && answersOf(x) != "" {
				t.Errorf("a text is shown that never became durable: %q", answersOf(x))
			}
		})
	}
}

func TestAWaitingTurnGoesOn(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	l.take(l.event("aex_1", &eventv1.TurnWaiting{WaitingFor: "outcome_unknown"}))
	if l.stopped() == nil {
		t.Fatal("nothing to recover")
	}
	l.take(l.event("aex_1", &eventv1.TurnReopened{}))
	if x := l.turns["aex_1"]; x.phase != running || l.stopped() != nil {
		t.Errorf("phase %s", x.phase)
	}
}

func TestOnlyTheLastTurnIsRecoveredWhenItFailed(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	l.take(l.event("aex_1", &eventv1.TurnFailed{}))
	l.take(l.event("aex_2", &eventv1.InputQueued{}))
	l.take(l.event("aex_2", &eventv1.InputRemoved{}))
	if x := l.stopped(); x == nil || x.id != "aex_1" {
		t.Errorf("got %v", x)
	}
	l.begin("aex_3", "more")
	if x := l.stopped(); x != nil {
		t.Errorf("got %v", x.id)
	}
}

func TestTheEndsUsageCounts(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	l.take(l.event("aex_1", &eventv1.AgentModelUsage{Usage: &messagev1.Usage{InputTokens: 5, CostNanoUsd: 100}}))
	l.take(l.event("aex_1", &eventv1.TurnCompleted{Usage: &messagev1.Usage{InputTokens: 9, CostNanoUsd: 300}}))
	l.begin("aex_2", "more")
	l.take(l.event("aex_2", &eventv1.AgentModelUsage{Usage: &messagev1.Usage{InputTokens: 1, UnpricedCalls: 1}}))
	u := l.spent()
	if u.GetInputTokens() != 10 || u.GetCostNanoUsd() != 300 || u.GetUnpricedCalls() != 1 {
		t.Errorf("got %v", u)
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	l := newLog()
	l.begin("aex_1", "hello")
	l.take(l.event("aex_1", &eventv1.AgentToolRequested{CallId: "c1", Name: "shell", Arguments: `{"command":"make"}`}))
	l.take(l.event("aex_1", &eventv1.AgentToolStarted{CallId: "c1", Name: "shell"}))
	l.take(l.event("aex_1", &eventv1.AgentToolProgress{CallId: "c1", Text: strings.Repeat("é", mostProgress)}))
	c := &l.turns["aex_1"].tools["c1"].tool
	if c.state != "started" || len(c.progress) > mostProgress || !strings.HasPrefix(c.progress, "é") {
		t.Errorf("state %s, %d bytes", c.state, len(c.progress))
	}
	l.take(l.event("aex_1", &eventv1.AgentToolCompleted{CallId: "c1", Name: "shell", Result: "ok", Summary: "1 line", DurationMs: 1500, Recovered: true}))
	if c.state != "completed" || c.note != "1 line · found done after a restart" || c.progress != "" || c.duration != 1500*time.Millisecond {
		t.Errorf("got %+v", c)
	}
	l.take(l.event("aex_1", &eventv1.AgentToolOutcomeUnknown{CallId: "c2", Name: "shell", Message: "nobody knows"}))
	if x := l.turns["aex_1"]; len(x.entries) != 2 || x.tools["c2"].tool.state != "unknown" {
		t.Errorf("%d entries", len(x.entries))
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"one\n":                 "one",
		"1\n2\n3\n4\n":          "2|3|4",
		"10 %\r50 %\r100 %\r\n": "100 %",
		"10 %\r50 %":            "50 %",
		"a\r\nb":                "a|b",
	} {
		if got := strings.Join(lastLines(in, 3), "|"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
