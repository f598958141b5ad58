package compaction_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/turn/compaction"
)

// items makes a history of words: u is a message, a an answer, c an answer with a call, r its
// result, d a word of Cadre's own; each with a number that tells it from the others.
func items(words string) (all []*messagev1.Item) {
	for i, w := range strings.Fields(words) {
		n := fmt.Sprintf("%s%d", w, i)
		var item *messagev1.Item
		switch w {
		case "u":
			item = &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: n}}}
		case "d":
			item = &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: n}}}
		case "r":
			item = &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{Text: n}}}
		case "a":
			item = answer(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: n}})
		case "c":
			item = answer(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: n}}})
		}
		all = append(all, item)
	}
	return all
}

func answer(p *messagev1.AssistantPart) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{Parts: []*messagev1.AssistantPart{p}}}}
}

// names tells a history's items; S is a summary.
func names(all []*messagev1.Item) string {
	var out []string
	for _, item := range all {
		name := item.GetUser().GetText() + item.GetDeveloper().GetText() + item.GetToolResult().GetText()
		for _, p := range item.GetAssistant().GetParts() {
			name += p.GetText() + p.GetToolCall().GetId()
		}
		if s := item.GetDeveloper().GetSummary(); s != nil {
			name = fmt.Sprintf("S(%d,%d,%d)", s.GetItems(), s.GetUserMessages(), s.GetAnswers())
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestWhatStays(t *testing.T) {
	t.Parallel()
	for history, want := range map[string]string{
		"u c r c r":         "u0 S(2,0,1) c3 r4",    // in mid-turn: the task and the newest call
		"u c r r c r r":     "u0 S(3,0,1) c4 r5 r6", // calls keep all their results
		"u a u":             "u0 S(1,0,1) u2",       // before a turn's first request
		"u a u a u":         "u0 u2 S(2,0,1) u4",    // messages stay, answers go
		"u a u c r c r":     "u0 u2 S(3,0,1) c5 r6", //
		"u c r a d":         "u0 S(2,0,1) a3 d4",    // what is owed for an answer keeps it
		"u a u u":           "u0 S(1,0,1) u2 u3",    // nobody answered either
		"u c r c r a u c r": "u0 u6 S(5,0,0) c7 r8", // answers are counted since the newest message
		"u":                 "",                     // nothing to take out
		"u c r":             "",                     //
		"u c r d":           "",                     //
		"d u c r c r":       "u1 S(3,0,1) c4 r5",    //
	} {
		p, ok := compaction.Split(items(history))
		got := ""
		if ok {
			got = names(p.History("summary", "", nil))
		}
		if got != want {
			t.Errorf("%s becomes %q, want %q", history, got, want)
		}
	}
}

// A second compaction takes the first one's summary in, and counts what it stood for.
func TestASummaryIsSummarised(t *testing.T) {
	t.Parallel()
	p, _ := compaction.Split(items("u a u c r c r"))
	once := p.History("one", "", nil)
	if _, ok := compaction.Split(once); ok {
		t.Error("what is as short as can be is compacted again")
	}
	more := slices.Concat(once, items("c r c r"))
	p, ok := compaction.Split(more)
	if got := names(p.History("two", "", nil)); !ok || got != "u0 u2 S(7,0,3) c2 r3" {
		t.Errorf("it becomes %s", got)
	}
	p, ok = compaction.Split(slices.Concat(once, items("a u c r c r")))
	if got := names(p.History("two", "", nil)); !ok || got != "u0 u2 u1 S(8,0,1) c4 r5" {
		t.Errorf("with another message it becomes %s", got)
	}
	once[2].GetDeveloper().GetSummary().UserMessages = 4
	p, _ = compaction.Split(slices.Concat(once, items("c r c r")))
	if got := names(p.History("two", "", nil)); got != "u0 u2 S(7,4,3) c2 r3" {
		t.Errorf("with messages that went before it becomes %s", got)
	}
}

// Old messages of people go when there is no room, the newest never; the counts tell.
func TestMessagesStayWithinBounds(t *testing.T) {
	t.Parallel()
	all := items("u a u a u a u a u")
	all[2].GetUser().Text = strings.Repeat("old ", 15_000)
	all[4].GetUser().Text = strings.Repeat("newer ", 10_000)
	all[6].GetUser().Text = strings.Repeat("newest ", 50_000)
	p, ok := compaction.Split(all)
	got := p.History("s", "", nil)
	if !ok || len(got) != 4 || got[2].GetDeveloper().GetSummary().GetUserMessages() != 2 || got[2].GetDeveloper().GetSummary().GetAnswers() != 1 {
		t.Fatalf("it becomes %.300s", names(got))
	}
	newest := got[1].GetUser().GetText()
	if len(newest) > 90_000 || !strings.HasPrefix(newest, "newest ") || !strings.HasSuffix(newest, "newest ") || !strings.Contains(newest, "left out") {
		t.Errorf("the newest message has %d bytes", len(newest))
	}
	if len(all[6].GetUser().GetText()) != 350_000 {
		t.Error("an item that was given is another one now")
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	h := items("u a u")
	h[2].GetUser().Text = strings.Repeat("x", 400)
	known := compaction.Known{Tokens: 800, Items: 2}
	l := compaction.Measure(h, 4000, known)
	if l.Tokens != 900 || l.Items != 3 {
		t.Errorf("the length is %+v", l)
	}
	for window, want := range map[int64]compaction.Reason{0: "", 1000: compaction.Window, 1001: "", 10: compaction.Window} {
		if got := l.Due(window); got != want {
			t.Errorf("with a window of %d it is due for %q, want %q", window, got, want)
		}
	}
	if got := compaction.Measure(h, 4000, compaction.Known{}); got.Tokens != 1101 {
		t.Errorf("without a count the length is %+v", got)
	}
	for _, l := range []compaction.Length{{Items: compaction.MostItems*9/10 + 1}, {Bytes: compaction.MostBytes}} {
		if l.Due(0) != compaction.Size || !l.Sendable() {
			t.Errorf("%+v is due for %q, sendable: %t", l, l.Due(0), l.Sendable())
		}
	}
	for _, l := range []compaction.Length{{Items: compaction.MostItems + 1}, {Bytes: compaction.MostBytes + 1}} {
		if l.Sendable() {
			t.Errorf("%+v is sent", l)
		}
	}
}

// Whatever the history, what is asked to be summarised has room, keeps calls with their results
// and the task, and changes nothing that it was given.
func TestFit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		words := []string{"u"}
		for range r.IntN(30) {
			words = append(words, []string{"u a", "a", "c r", "c r r", "d"}[r.IntN(5)])
		}
		h := items(strings.Join(words, " "))
		for _, item := range h {
			if res := item.GetToolResult(); res != nil {
				res.Text = strings.Repeat("é", r.IntN(5000))
			}
		}
		before := compaction.Bytes(h)
		room := r.IntN(before + 10)
		got := compaction.Fit(h, room)
		if compaction.Bytes(h) != before {
			t.Fatal("what was given is another one now")
		}
		if room >= before && len(got) != len(h) {
			t.Errorf("what fits is changed")
		}
		newest := min(compaction.Bytes(h[len(h)-min(3, len(h)):]), 3*1200) + 100
		if n := compaction.Bytes(got); n > max(room, newest) {
			t.Errorf("%d bytes are sent where %d have room: %.200s", n, room, names(got))
		}
		if got[0] != h[0] {
			t.Error("the task is gone")
		}
		calls := 0
		for _, item := range got {
			if item.GetToolResult() != nil && calls == 0 {
				t.Error("a result stands without its call")
			}
			if item.GetToolResult() == nil {
				calls = 0
			}
			for _, p := range item.GetAssistant().GetParts() {
				if p.GetToolCall() != nil {
					calls++
				}
			}
			if !utf8.ValidString(item.GetToolResult().GetText()) {
				t.Error("a character is cut")
			}
		}
	}
}

// All that is sent counts.
func TestBytes(t *testing.T) {
	t.Parallel()
	call := answer(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: "not counted", Name: "ab", Arguments: "cde"}}})
	thought := answer(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Text: "ab", Private: []byte("c")}}})
	files := func(all ...*messagev1.Attachment) *messagev1.Item {
		return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: "u", Attachments: all}}}
	}
	image := &messagev1.Attachment{MediaType: "image/png", Size: 9}
	result := &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{Text: "r", Attachments: []*messagev1.Attachment{image}}}}
	for name, c := range map[string]struct {
		items []*messagev1.Item
		want  int
	}{
		"nothing": {nil, 0}, "words": {items("u a d r"), 8}, "a call": {[]*messagev1.Item{call}, 5}, "a thought": {[]*messagev1.Item{thought}, 3},
		"an image":     {[]*messagev1.Item{files(image)}, 6001},
		"a text":       {[]*messagev1.Item{files(&messagev1.Attachment{MediaType: "text/plain", Size: 70})}, 71},
		"no type":      {[]*messagev1.Item{files(&messagev1.Attachment{MediaType: "image/", Size: 5})}, 6},
		"a long text":  {[]*messagev1.Item{files(&messagev1.Attachment{MediaType: "text/plain", Size: 1 << 30})}, 1<<20 + 1},
		"a wrong size": {[]*messagev1.Item{files(&messagev1.Attachment{MediaType: "text/plain", Size: -1})}, 1},
		"a result":     {[]*messagev1.Item{result}, 6001},
	} {
		if got := compaction.Bytes(c.items); got != c.want {
			t.Errorf("%s has %d bytes, want %d", name, got, c.want)
		}
	}
}

// The bounds are promised in docs/guide/compaction.md.
func TestTheBounds(t *testing.T) {
	t.Parallel()
	if compaction.MostItems != 8192 || compaction.MostBytes != 15728640 {
		t.Error("what is sent at most is another bound than the guide says")
	}
	l := compaction.Measure(items("u a"), 100, compaction.Known{Tokens: 1, Items: 3})
	if l.Overhead != 100 || l.Tokens != 26 {
		t.Errorf("with a count of what is not there the length is %+v", l)
	}
	if l = compaction.Measure(items("u a"), 100, compaction.Known{Tokens: 1, Items: 2}); l.Tokens != 1 {
		t.Errorf("with a count of all the length is %+v", l)
	}
	if l.Due(1) != compaction.Window || (compaction.Length{Tokens: 899}).Due(1000) != "" {
		t.Error("90 % of a window is not where it is due")
	}
	was := compaction.Length{Bytes: 400, Overhead: 100, Tokens: 1000}
	if got := was.Of(items("u a")); got != 208 {
		t.Errorf("four bytes of what had 400 are %d tokens", got)
	}
	if h := items("u a"); compaction.Shrinks(h, h) || !compaction.Shrinks(h, h[:1]) {
		t.Error("what is as long is taken for shorter")
	}
	if (compaction.Length{}).Of(nil) != 0 {
		t.Error("nothing has a length")
	}
}
