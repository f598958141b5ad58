package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/tool"
)

type arguments struct {
	Text  string   `json:"text"`
	Count int      `json:"count,omitempty"`
	Maybe *int     `json:"maybe,omitempty"`
	Flag  bool     `json:"flag,omitempty"`
	Rate  float64  `json:"rate,omitempty"`
	List  []string `json:"list,omitempty"`
	Steps []step   `json:"steps,omitempty"`
}

type step struct {
	Name  string   `json:"name"`
	Times *int     `json:"times,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

func decode(raw string) (arguments, *tool.Result) {
	var a arguments
	r := tool.Decode(tool.Call{Args: json.RawMessage(raw)}, &a)
	return a, r
}

func TestDecode(t *testing.T) {
	t.Parallel()
	a, r := decode(` {"text":"x","count":2.0,"maybe":0,"flag":true,"rate":0.5,"list":["a","b"]} `)
	if r != nil {
		t.Fatal(r.Text)
	}
	if a.Text != "x" || a.Count != 2 || a.Maybe == nil || *a.Maybe != 0 || !a.Flag || a.Rate != 0.5 || !slices.Equal(a.List, []string{"a", "b"}) {
		t.Errorf("decoded %+v", a)
	}
	if a, r := decode(`{"text":"","maybe":null}`); r != nil || a.Maybe != nil {
		t.Errorf("null and an empty text: %+v, %v", a, r)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                           "`text` is missing: it must be text",
		`null`:                       "`text` is missing",
		`{"text":1}`:                 "`text` must be text, not a number (1)",
		`{"text":null}`:              "`text` is missing",
		`{"text":"a","count":"7"}`:   "`count` must be a whole number, not text (\"7\")",
		`{"text":"a","count":1.5}`:   "`count` must be a whole number",
		`{"text":"a","count":1e99}`:  "`count` must be a whole number",
		`{"text":"a","list":[1]}`:    "`list` must be a list, each element text",
		`{"text":"a","list":[null]}`: "`list` must be a list",
		`{"text":"a","flag":"yes"}`:  "`flag` must be true or false",
		`{"text":"a","cuont":1}`:     "`cuont` is no argument of this tool. Did you mean \"count\"?",
		`{"text":"a","text":"b"}`:    "`text` is given twice",
		`{"text":"a"} x`:             "something follows",
		`["text"]`:                   "one JSON object, not a list",
		`{"text":`:                   "end too early",
		`{"a":1,"b":2}`:              "`b` is no argument",
	} {
		_, r := decode(raw)
		if r == nil || !r.IsError || !strings.Contains(r.Text, want) || !strings.Contains(r.Text, "The tool takes `text` (text, required)") {
			t.Errorf("Decode(%s) = %+v, want %q and what the tool takes", raw, r, want)
		}
	}
}

func TestDecodeObjects(t *testing.T) {
	t.Parallel()
	a, r := decode(`{"text":"x","steps":[{"name":"a","times":2,"tags":["b"]},{"times":null,"name":""}]}`)
	if r != nil {
		t.Fatal(r.Text)
	}
	if len(a.Steps) != 2 || a.Steps[0].Name != "a" || *a.Steps[0].Times != 2 || a.Steps[0].Tags[0] != "b" || a.Steps[1].Times != nil {
		t.Errorf("decoded %+v", a.Steps)
	}
	for raw, want := range map[string]string{
		`"a"`:                             "`steps` must be a list, each element an object of `name` (text, required), `times` (a whole number, optional)",
		`[{"name":"a"},7]`:                "`steps[1]` must be an object, not a number (7)",
		`[null]`:                          "`steps[0]` must be an object, not null",
		`[{"name":"a"},{}]`:               "`steps[1].name` is missing: it must be text",
		`[{"name":1}]`:                    "`steps[0].name` must be text, not a number (1)",
		`[{"name":"a","nmae":"b"}]`:       "`steps[0].nmae` is no field of that object. Did you mean \"name\"?",
		`[{"name":"a","name":"b"}]`:       "`steps[0].name` is given twice",
		`[{"name":"a","tags":[1]}]`:       "`steps[0].tags` must be a list, each element text",
		`[1,2,3,4,5,6,7,8,9,10]`:          "`steps[7]` must be an object, not a number (8); and 2 more",
		`[{"name":"a","times":1.5}], "b"`: "not valid JSON",
	} {
		_, r := decode(`{"text":"x","steps":` + raw + `}`)
		if r == nil || !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("Decode(%s) = %+v, want %q", raw, r, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"text":"x","list":["a",null],"maybe":1e9}`)
	f.Add(`{"text":"x"`)
	f.Add(`{"text":"x","steps":[{"name":"a"},{"name":[]},null,[]]}`)
	f.Add("{\"\\u0000\":[[[[]]]]}")
	f.Fuzz(func(t *testing.T, raw string) {
		_, r := decode(raw)
		if r != nil && (!r.IsError || r.Text == "") {
			t.Errorf("Decode(%q) = %+v", raw, r)
		}
		if r == nil && !json.Valid([]byte(raw)) {
			t.Errorf("Decode takes %q, which is no JSON", raw)
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	told := fault.New(fault.PermissionDenied, "X", "not allowed")
	if r, err := tool.Refused(t.Context(), nil, "p", told); err != nil || !r.IsError || r.Text != "not allowed." {
		t.Errorf("a refusal gives %+v, %v, want a result", r, err)
	}
	for _, broken := range []error{errors.New("secret"), fault.New(fault.Unavailable, "X", "gone"), fault.New(fault.Internal, "X", "bug")} {
		if r, err := tool.Refused(t.Context(), nil, "p", broken); !errors.Is(err, broken) || r.Text != "" {
			t.Errorf("%v gives %+v, %v, want the error", broken, r, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.Aborted, "SUPERSEDED", "another turn took over"))
	if _, err := tool.Refused(ctx, nil, "p", context.Cause(ctx)); fault.ReasonOf(err) != "SUPERSEDED" {
		t.Errorf("the end of the context gives %v, want its cause", err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"": nil, "a": {"a"}, "a\n": {"a"}, "a\r\n\nb": {"a", "", "b"}, "\n": {""}} {
		if got := tool.Lines(text); !slices.Equal(got, want) {
			t.Errorf("Lines(%q) = %q, want %q", text, got, want)
		}
	}
	for line, want := range map[string]string{"abc": "abc", "äöü": "äöü", "abcd": "abc… [the line has 4 characters]", "äöüß": "äöü… [the line has 4 characters]", "\xff": "\ufffd"} {
		if got := tool.Shorten(line, 3); got != want || !utf8.ValidString(got) {
			t.Errorf("Shorten(%q) = %q, want %q", line, got, want)
		}
	}
	if !tool.IsBinary([]byte("a\x00")) || tool.IsBinary([]byte("ä\xff")) || tool.IsBinary(nil) {
		t.Error("IsBinary looks for anything but a zero byte")
	}
	if got := tool.Count(1, "match", "matches") + ", " + tool.Count(0, "match", "matches"); got != "1 match, 0 matches" {
		t.Errorf("Count gives %s", got)
	}
}
