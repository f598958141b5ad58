package turn_test

import (
	"context"
	"strings"
	"testing"

	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn"
)

// able is a talk whose model's provider makes histories shorter by itself.
type able struct {
	*talk
	declared []model.CompactRequest
	fails    error // the next Compact
	passes   bool
	none     bool // it answers nothing in its place
	judged   []error
}

func (a *able) OpenModel(context.Context, *ledgerv1.ExecutionPolicy) (model.Model, error) {
	return a, nil
}
func (a *able) Compaction() (feature, implementation string) { return "remote_v2", "form-7" }
func (a *able) Recoverable(err error) bool {
	a.judged = append(a.judged, err)
	return a.passes
}

func (a *able) Compact(_ context.Context, req model.CompactRequest) (model.Compacted, error) {
	a.declared = append(a.declared, req)
	req.Sent()
	if err := a.fails; err != nil {
		a.fails = nil
		return model.Compacted{}, err
	}
	if a.none {
		return model.Compacted{Usage: &messagev1.Usage{InputTokens: 9}}, nil
	}
	return model.Compacted{ResponseID: "cmp", Usage: &messagev1.Usage{InputTokens: 90, OutputTokens: 9}, Items: []*messagev1.Item{{Item: &messagev1.Item_Assistant{
		Assistant: &messagev1.AssistantMessage{Provider: "fake", FinishReason: "compacted", Parts: []*messagev1.AssistantPart{{
			Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: []byte("sealed")}},
		}}},
	}}}}, nil
}

func (a *able) start(t *testing.T) {
	t.Helper()
	a.accept("go on")
	if err := turn.Run(t.Context(), a, a.claim(""), a.opt); err != nil {
		t.Fatal(err)
	}
}

// T66: a provider that makes histories shorter by itself is asked with its feature and
// implementation declared, and with the turn's own instructions and tools (T61). What it gives
// stands in the history behind a word on what it is.
func TestAProviderShortensHistoriesByItself(t *testing.T) {
	t.Parallel()
	a := &able{talk: newTalk(t, 6)}
	a.window = 4000
	a.start(t)
	if a.count("turn.completed") != 1 || len(a.declared) == 0 || a.summaries != 0 || a.count("context.compacted") != len(a.declared) {
		t.Fatalf("after %d requests of it the log is %v, the status %v", len(a.declared), a.types(), a.status())
	}
	for _, req := range a.declared {
		if req.Feature != "remote_v2" || req.Implementation != "form-7" || !req.Compaction || req.RequestID == "" {
			t.Errorf("the request declares %q and %q", req.Feature, req.Implementation)
		}
		if req.Instructions != a.asked[0].Instructions || len(req.Tools) != len(a.asked[0].Tools) {
			t.Errorf("T61: it has the instructions %q and %d tools", req.Instructions, len(req.Tools))
		}
		if last := req.History[len(req.History)-1]; last.GetToolResult() == nil {
			t.Errorf("it is asked in words: %v", last)
		}
	}
	h := a.historyNow()
	if s := h[1].GetDeveloper().GetSummary(); s.GetProvider() != "fake" || string(h[2].GetAssistant().GetParts()[0].GetReasoning().GetPrivate()) != "sealed" {
		t.Errorf("the history is %v", h[:3])
	}
	paired(t, h)
}

// T66: the provider's own test says whether its failure passes.
func TestAFailureOfTheProvidersOwnWay(t *testing.T) {
	t.Parallel()
	for _, passes := range []bool{true, false} {
		a := &able{talk: newTalk(t, 6), passes: passes, fails: &model.Error{Category: model.BadRequest, Status: 400, Message: "not now"}}
		a.window = 4000
		a.start(t)
		if len(a.judged) != 1 || !strings.Contains(a.judged[0].Error(), "not now") {
			t.Errorf("it was asked of %v", a.judged)
		}
		if !passes {
			if got := a.status().GetError(); got.GetCode() != "context_compaction_failed" || got.GetDetail() != "not now" {
				t.Errorf("the turn is %v", got)
			}
			continue
		}
		if told := a.waits("provider"); told.GetError().GetCode() != "context_compaction_delayed" {
			t.Errorf("it waits with %v", told)
		}
	}
	a := &able{talk: newTalk(t, 6), none: true}
	a.window = 4000
	a.start(t)
	if got := a.status().GetError(); got.GetCode() != "context_compaction_failed" || a.count("context.compacted") != 0 {
		t.Errorf("with nothing in its place the turn is %v", got)
	}
}

// Nobody else reads that form: a model of another provider is not asked.
func TestAnotherProviderIsNotAskedAboutAFormThatItCannotRead(t *testing.T) {
	t.Parallel()
	a := &able{talk: newTalk(t, 6)}
	a.window = 4000
	a.start(t)
	a.again("and then?")
	c := a.claim("")
	c.Policy.Provider = "other"
	asked := len(a.asked)
	if err := turn.Run(t.Context(), a, c, a.opt); err != nil {
		t.Fatal(err)
	}
	if got := a.status().GetError(); got.GetCode() != "compaction_provider_locked" || len(a.asked) != asked {
		t.Errorf("after %d more requests the turn is %v", len(a.asked)-asked, got)
	}
}

// standIn is a talk whose model plays another one.
type standIn struct{ *talk }

func (s *standIn) OpenModel(context.Context, *ledgerv1.ExecutionPolicy) (model.Model, error) {
	return s, nil
}
func (s *standIn) StandsFor() string { return "fake/real" }
func (s *standIn) Window(name string) int64 {
	if name == "fake/real" {
		return 4000
	}
	return 0
}

// A recording is played with the window of the model that was recorded.
func TestAStandInHasTheWindowOfTheOther(t *testing.T) {
	t.Parallel()
	s := &standIn{newTalk(t, 6)}
	s.accept("go on")
	if err := turn.Run(t.Context(), s, s.claim(""), s.opt); err != nil {
		t.Fatal(err)
	}
	if s.count("context.compacted") == 0 || s.count("turn.completed") != 1 {
		t.Errorf("the log is %v", s.types())
	}
}

// A history that is longer than what is sent at most, and cannot be made shorter, is not sent.
func TestAHistoryBeyondAllBoundsIsNotSent(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 0)
	k.accept(strings.Repeat("much ", 4<<20))
	if err := turn.Run(t.Context(), k, k.claim(""), k.opt); err != nil {
		t.Fatal(err)
	}
	if got := k.status().GetError(); got.GetCode() != "history_limit_exceeded" || got.GetRetryable() || len(k.asked) != 0 {
		t.Errorf("after %d requests the turn is %v", len(k.asked), got)
	}
}

// What overflows again before an answer came is not made shorter again, also where it could be.
func TestAnOverflowBehindACompactionIsTheEnd(t *testing.T) {
	t.Parallel()
	a := &able{talk: newTalk(t, 6)}
	a.refuse = func(req model.Request) error {
		if len(req.History) < 6 && len(a.declared) == 0 {
			return nil
		}
		return &model.Error{Category: model.ContextTooLong, Status: 400, Message: "prompt is too long"}
	}
	a.start(t)
	if got := a.status().GetError(); len(a.declared) != 1 || got.GetCode() != "context_too_long" {
		t.Errorf("after %d requests for a shorter history the turn is %v", len(a.declared), got)
	}
}
