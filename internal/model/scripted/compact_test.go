package scripted_test

import (
	"errors"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

func summary(users, answers int32) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{
		Text: "so far", Summary: &messagev1.Summary{Items: 9, UserMessages: users, Answers: answers},
	}}}
}

// What a compaction took out counts as though it were there.
func TestAStepIsFoundBehindASummary(t *testing.T) {
	t.Parallel()
	m := open(t, "turns:\n  - steps: [{text: one}]\n  - steps: [{text: two}]\n  - steps: [{text: three a}, {text: three b}, {text: three c}]")
	h := append(history("u:x", "u:z"), summary(1, 1))
	h = append(h, history("a")...)
	if got, err := play(m, model.Request{History: h}); err != nil || got[0] != "three c" {
		t.Errorf("it plays %q, %v", got, err)
	}
}

func TestARequestForASummaryIsAnsweredApart(t *testing.T) {
	t.Parallel()
	req := model.Request{History: history("u:x", "a"), Compaction: true, RequestID: "aex_1/2"}
	m := open(t, "compaction: {text: short, error: {category: overloaded, times: 2}}\nsteps: [{text: one}, {text: two}]")
	for id, want := range map[string]string{"aex_1/2": "", "aex_1/3": "", "aex_1/4": "short"} {
		req.RequestID = id
		got, err := play(m, req)
		if want != "" && (err != nil || got[0] != want) || want == "" && err == nil {
			t.Errorf("request %s gets %q, %v", id, got, err)
		}
	}
	if got, err := play(open(t, "steps: [{text: one}]"), req); err != nil || got[0] != "Summary: 2 items." {
		t.Errorf("without a word on it it plays %q, %v", got, err)
	}
}

func TestAWindowRefusesWhatIsLonger(t *testing.T) {
	t.Parallel()
	m := open(t, "window: 10\nsteps: [{text: one}]")
	if got, err := play(m, model.Request{History: history("u:" + strings.Repeat("x", 40))}); err != nil || got[0] != "one" {
		t.Errorf("what fits gets %q, %v", got, err)
	}
	var e *model.Error
	if _, err := play(m, model.Request{History: history("u:" + strings.Repeat("x", 41))}); !errors.As(err, &e) || e.Category != model.ContextTooLong || e.Status != 400 {
		t.Errorf("what does not gets %v", err)
	}
}

// T66: the script's own form is given to who declares what it wants.
func TestAScriptShortensHistoriesByItself(t *testing.T) {
	t.Parallel()
	m := open(t, "compaction: {text: sealed, remote: {feature: f, implementation: i}, recoverable: true, error: {category: bad_request, times: 1}}\nsteps: [{text: one}]")
	c, ok := m.(model.Compactor)
	if !ok {
		t.Fatal("it has not the ability")
	}
	f, i := c.Compaction()
	req := model.CompactRequest{Request: model.Request{History: history("u:x"), Compaction: true, RequestID: "aex_1/2"}, Feature: f, Implementation: i}
	got, err := c.Compact(t.Context(), req)
	if err != nil || string(got.Items[0].GetAssistant().GetParts()[0].GetReasoning().GetPrivate()) != "sealed" || got.Usage == nil {
		t.Errorf("it gives %v, %v", got, err)
	}
	req.RequestID = "aex_1/1"
	if _, err := c.Compact(t.Context(), req); err == nil || !c.Recoverable(err) {
		t.Errorf("its error is %v", err)
	}
	req.Feature = "another"
	if _, err := c.Compact(t.Context(), req); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("a request that declares something else gives %v", err)
	}
	if _, ok := open(t, "compaction: {text: x}\nsteps: [{}]").(model.Compactor); ok {
		t.Error("a script without its own form has the ability")
	}
}
