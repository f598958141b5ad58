package gemini

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// all reads every event.
func all(r io.Reader) ([]string, error) {
	var got []string
	e := newEvents(r)
	for {
		data, err := e.next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, string(data))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40<<10)
	for stream, want := range map[string][]string{
		"data: a\n\ndata:b\r\n\r\n":                     {"a", "b"},
		"data: a\ndata:  b\ndata\n\n":                   {"a\n b\n"},
		": comment\n\n\nevent: x\nid: 1\ndata: a:b\n\n": {"a:b"},
		"event: x\n\ndata: a\n\ndata: cut":              {"a"},
		"data: cut\n":                                   nil,
		"data: " + long + "\n\ndata: b\n\n":             {long, "b"},
		"<html>\n<body>\n\n":                            nil,
		"datax: a\n\n data: b\n\n":                      nil,
		"data: \xff\xfe\n\n":                            {"\xff\xfe"},
		"data:\n\n":                                     {""},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(stream), "bytes": iotest.OneByteReader(strings.NewReader(stream))} {
			if got, err := all(r); err != nil || !slices.Equal(got, want) {
				t.Errorf("%.60q as %s: %.60q, %v", stream, name, got, err)
			}
		}
	}
	if _, err := all(io.MultiReader(strings.NewReader("data: "), &endless{})); err == nil {
		t.Error("an event without end is read for ever")
	}
	cut := errors.New("cut")
	if _, err := all(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(cut))); !errors.Is(err, cut) {
		t.Errorf("a broken stream ends with %v", err)
	}
}

// endless gives bytes for ever.
type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReduced(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","properties":{"z":{"type":"string","minLength":1},"a":{"type":["integer","null"]}},"required":["z"],"additionalProperties":false}`: `{"type":"object","properties":{"z":{"type":"string","minLength":1},"a":{"type":["integer","null"]}},"required":["z"],"additionalProperties":false}`,
		`{"$schema":"x","type":"object","properties":{"const":{"const":"v"},"examples":{"type":"array","items":{"type":"string","examples":["x"]}}}}`:        `{"type":"object","properties":{"const":{"enum":["v"]},"examples":{"type":"array","items":{"type":"string"}}}}`,
		`{"definitions":{"d":{"not":{},"type":"string"}},"$ref":"#/definitions/d"}`:                                                                          `{"$defs":{"d":{"type":"string"}},"$ref":"#/$defs/d"}`,
		`{"anyOf":[{"type":"string","if":{}},{"additionalProperties":{"contentEncoding":"x","type":"number"}}],"enum":[{"not":1}]}`:                          `{"anyOf":[{"type":"string"},{"additionalProperties":{"type":"number"}}],"enum":[{"not":1}]}`,
		`{"properties":{"a":{"description":"x","$ref":"#/$defs/d"},"$ref":{"type":"string"}}}`:                                                               `{"properties":{"a":{"$ref":"#/$defs/d"},"$ref":{"type":"string"}}}`,
		" { \"type\" : \"object\" } ": `{"type":"object"}`,
		`true`:                        `true`,
		`{`:                           `{"type":"object"}`,
		``:                            `{"type":"object"}`,
	} {
		if got := string(reduced(json.RawMessage(in))); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", in, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\r\n\r\n")
	f.Add(": c\ndata: {\"a\":\ndata: 1}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		one, err1 := all(strings.NewReader(stream))
		two, err2 := all(iotest.HalfReader(strings.NewReader(stream)))
		if err1 != nil || err2 != nil || !slices.Equal(one, two) {
			t.Errorf("%q, %v and %q, %v", one, err1, two, err2)
		}
	})
}

// FuzzChunk: whatever a chunk holds, the parts keep the rules, and the answer goes
// back as valid JSON.
func FuzzChunk(f *testing.F) {
	f.Add(`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}]}`)
	f.Add(`{"candidates":[{"content":{"parts":[{"text":"t","thought":true,"thoughtSignature":"s"},{"text":""}]},"finishReason":"zzz"}],"usageMetadata":{}}`)
	f.Add(`{"error":{"code":503,"status":"UNAVAILABLE"}}`)
	f.Add(`{"promptFeedback":{"blockReason":"SAFETY"}}`)
	f.Fuzz(func(t *testing.T, data string) {
		message := &messagev1.AssistantMessage{Provider: provider}
		a := &answer{give: func(p model.Part) bool {
			switch {
			case p.Text != "":
				message.Parts = append(message.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: p.Text}})
			case p.ToolCall != nil:
				message.Parts = append(message.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: p.ToolCall}})
			case p.Reasoning != nil:
				message.Parts = append(message.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: p.Reasoning}})
			case p.Done == nil:
				t.Error("an empty part")
			}
			return true
		}}
		if a.take([]byte(data)) != nil || !a.over {
			return
		}
		if err := a.end(); err != nil {
			t.Fatal(err)
		}
		out, err := body("gemini-3", model.Request{History: []*messagev1.Item{{Item: &messagev1.Item_Assistant{Assistant: message}}}})
		if err != nil || !json.Valid(out) {
			t.Errorf("it goes back as %s, %v", out, err)
		}
	})
}

func FuzzReduced(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"const":1}},"anyOf":[{}],"$defs":{"x":true}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		once := reduced(json.RawMessage(raw))
		if !json.Valid(once) {
			t.Fatalf("%q becomes %q", raw, once)
		}
		if twice := reduced(once); string(twice) != string(once) {
			t.Errorf("%s becomes %s when it is reduced again", once, twice)
		}
	})
}
