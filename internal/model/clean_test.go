package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// pieces makes parts of words: `t:` text, `r:` readable thought, `p:` sealed thought,
// `c:` a call, `d:` the end.
func pieces(words ...string) []model.Part {
	var all []model.Part
	for _, w := range words {
		kind, s, _ := strings.Cut(w, ":")
		all = append(all, map[string]model.Part{
			"t": {Text: s}, "r": {Reasoning: &messagev1.Reasoning{Text: s}}, "p": {Reasoning: &messagev1.Reasoning{Text: s, Private: []byte("\xff")}},
			"c": {ToolCall: &messagev1.ToolCall{Id: s, Name: s, Arguments: s}}, "d": {Done: &model.Done{FinishReason: s, ResponseID: s}},
		}[kind])
	}
	return all
}

// words is the inverse of pieces, with `e:` for the error.
func words(t *testing.T, parts []model.Part, end error) string {
	t.Helper()
	var all []string
	for p, err := range model.Stream(t.Context(), func(_ context.Context, give func(model.Part) bool) error {
		for _, p := range parts {
			give(p)
		}
		return end
	}) {
		switch c := p.ToolCall; {
		case err != nil:
			all = append(all, "e:"+err.Error())
		case p.Text != "":
			all = append(all, "t:"+p.Text)
		case p.Reasoning != nil && p.Reasoning.GetPrivate() != nil:
			all = append(all, "p:"+p.Reasoning.GetText())
		case p.Reasoning != nil:
			all = append(all, "r:"+p.Reasoning.GetText())
		case c != nil && c.GetId() == c.GetName() && c.GetId() == c.GetArguments():
			all = append(all, "c:"+c.GetId())
		case p.Done != nil && p.Done.FinishReason == p.Done.ResponseID:
			all = append(all, "d:"+p.Done.FinishReason)
		default:
			t.Errorf("the part is %+v", p)
		}
	}
	return strings.Join(all, " ")
}

// TestCleanParts: what is no UTF-8 leaves no stream, and a character that was cut
// between two pieces is whole.
func TestCleanParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{"t:Grü", "t:ße", "d:stop"}, "t:Grü t:ße d:stop"},
		{[]string{"t:a\xff", "r:b\xff", "p:c\xff", "c:d\xff", "d:e\xff"}, "t:a\uFFFD r:b\uFFFD p:c\uFFFD c:d\uFFFD d:e\uFFFD"},
		{[]string{"t:Gr\xc3", "t:\xbc\xc3", "t:\x9fe", "d:stop"}, "t:Gr t:ü t:ße d:stop"},
		{[]string{"t:\xf0", "t:\x9f", "t:\x8e", "t:\x89!", "d:stop"}, "t:🎉! d:stop"},
		{[]string{"r:\xf0\x9f", "r:\x8e\x89", "d:stop"}, "r:🎉 d:stop"},
		{[]string{"t:a\xc3", "t:b", "d:stop"}, "t:a t:\uFFFDb d:stop"},
		{[]string{"t:a\xc3", "d:stop"}, "t:a t:\uFFFD d:stop"},
		{[]string{"t:a\xc3", "r:\xbcb", "d:stop"}, "t:a t:\uFFFD r:\uFFFDb d:stop"},
		{[]string{"r:a\xc3", "t:\xbcb", "d:stop"}, "r:a r:\uFFFD t:\uFFFDb d:stop"},
		{[]string{"r:a\xc3", "c:x", "d:stop"}, "r:a r:\uFFFD c:x d:stop"},
		{[]string{"t:\xc3\xc3", "t:\xbc", "d:stop"}, "t:\uFFFD t:ü d:stop"},
		{[]string{"t:\x9f\x9f\x9f\x9f\x9f", "d:" + strings.Repeat("x", model.LabelLimit-1)}, "t:\uFFFD d:" + strings.Repeat("x", model.LabelLimit-1)},
	} {
		if got := words(t, pieces(c.in...), nil); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
	}
	long := model.Part{Done: &model.Done{FinishReason: strings.Repeat("ü", model.LabelLimit)}}
	for p := range model.Stream(t.Context(), func(_ context.Context, give func(model.Part) bool) error { give(long); return nil }) {
		if n := len(p.Done.FinishReason); n > model.LabelLimit || !utf8.ValidString(p.Done.FinishReason) {
			t.Errorf("a finish reason has %d bytes", n)
		}
	}
}

// TestCleanErrors: the words of an error are bounded and valid, whoever made it.
func TestCleanErrors(t *testing.T) {
	t.Parallel()
	bad := strings.Repeat("\xffx", model.MessageLimit)
	_, _, err := produced(t.Context(), func(context.Context, func(model.Part) bool) error {
		return &model.Error{Category: model.Refused, Code: bad, Type: bad, Message: bad}
	})
	var e *model.Error
	if !errors.As(err, &e) || len(e.Code) > model.LabelLimit || len(e.Type) > model.LabelLimit || len(e.Message) > model.MessageLimit || !utf8.ValidString(e.Code+e.Type+e.Message) {
		t.Errorf("the error is %v", err)
	}
	if got := words(t, pieces("t:a\xc3"), &model.Error{Category: model.Network, Message: "cut"}); got != "t:a e:network: cut" {
		t.Errorf("a stream that breaks in a character gives %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("Gr\xc3", "\xbcße \xf0\x9f", "\x8e\x89")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		text := ""
		for p, err := range model.Stream(t.Context(), func(_ context.Context, give func(model.Part) bool) error {
			for _, s := range []string{a, b, c} {
				if s != "" {
					give(model.Part{Text: s})
				}
			}
			give(model.Part{Done: &model.Done{}})
			return nil
		}) {
			if err != nil || p.Text == "" && p.Done == nil {
				t.Errorf("%+v, %v", p, err)
			}
			text += p.Text
		}
		if whole := a + b + c; !utf8.ValidString(text) || utf8.ValidString(whole) && text != whole {
			t.Errorf("%q becomes %q", whole, text)
		}
	})
}
