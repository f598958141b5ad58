package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  variables
		says string // "" opens
	}{
		"key":            {variables{keyVariable: "k"}, ""},
		"key with space": {variables{keyVariable: " k\n"}, ""},
		"base":           {variables{keyVariable: "k", baseVariable: "https://proxy.example/openai/v1/"}, ""},
		"no key":         {variables{baseVariable: "https://proxy.example"}, "OPENAI_API_KEY"},
		"blank key":      {variables{keyVariable: "  "}, "OPENAI_API_KEY"},
		"broken key":     {variables{keyVariable: "secret-k\nsecret"}, "OPENAI_API_KEY does not hold a key"},
		"no scheme":      {variables{keyVariable: "secret-k", baseVariable: "proxy.example/v1"}, "OPENAI_BASE_URL"},
		"a file":         {variables{keyVariable: "secret-k", baseVariable: "file:///v1"}, "OPENAI_BASE_URL"},
		"a password":     {variables{keyVariable: "secret-k", baseVariable: "https://secret-u:p@proxy.example"}, "OPENAI_BASE_URL"},
		"a query":        {variables{keyVariable: "secret-k", baseVariable: "https://proxy.example?secret-q"}, "OPENAI_BASE_URL"},
	} {
		m, err := New(c.env.get).Open(t.Context(), "gpt-x")
		said := ""
		if err != nil {
			said = fault.From(err).Message
		}
		if c.says == "" && (err != nil || m == nil) || c.says != "" && (fault.CodeOf(err) != fault.FailedPrecondition || !strings.Contains(said, c.says)) {
			t.Errorf("%s: %v, want a fault that names %q", name, err, c.says)
		}
		if strings.Contains(said, "secret") {
			t.Errorf("%s: the fault tells what the variable holds: %s", name, said)
		}
	}
}

// TestParams: models that do not reason are not asked for sealed thoughts, and a loose
// schema is not called strict.
func TestParams(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"gpt-5": true, "o4-mini": true, "zzz-new": true, "ft:o3:x": true,
		"gpt-4o": false, "gpt-4.1-mini": false, "ft:gpt-4o:x:y": false, "gpt-5-chat-latest": false, "chatgpt-4o-latest": false, "gpt-3.5-turbo": false,
	} {
		if got := len(params(id, model.Request{}).Include) > 0; got != want {
			t.Errorf("%s is asked for sealed thoughts: %v, want %v", id, got, want)
		}
	}
	p := params("gpt-5", model.Request{Schema: []byte(`{"type":"object","properties":{"a":{}}}`)})
	if f := p.Text.Format.OfJSONSchema; f == nil || f.Strict.Value || !f.Strict.Valid() {
		t.Errorf("a loose schema is sent as %+v", p.Text)
	}
	if p.ParallelToolCalls.Valid() || p.Instructions.Valid() {
		t.Errorf("a request without tools and instructions says %+v", p)
	}
}

// TestLeftOut: sealed items without what they led to, and those that are not ours to
// read, do not go back.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	rs := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
	for name, c := range map[string]struct {
		privates []string
		text     string
		want     int
	}{
		"ours":             {[]string{rs}, "So.", 2},
		"nothing followed": {[]string{rs}, "", 0},
		"not JSON":         {[]string{"\x01\x02"}, "So.", 1},
		"another type":     {[]string{`{"type":"item_reference","id":"x"}`}, "So.", 1},
		"a phase":          {[]string{`{"type":"message","phase":"commentary"}`}, "So.", 1},
	} {
		m := &messagev1.AssistantMessage{Provider: provider}
		for _, private := range c.privates {
			m.Parts = append(m.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: []byte(private)}}})
		}
		if c.text != "" {
			m.Parts = append(m.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: c.text}})
		}
		if got := answered(m); len(got) != c.want {
			data, err := json.Marshal(got)
			t.Errorf("%s: %d items go back, want %d: %s, %v", name, len(got), c.want, data, err)
		}
	}
}

// played reads a stream that is given as its bytes.
func played(t *testing.T, stream string) (parts []model.Part, err error) {
	t.Helper()
	r := &reader{open: map[int64]bool{}, ready: map[int64]*model.Part{}, give: func(p model.Part) bool { parts = append(parts, p); return true }}
	res := &http.Response{Body: io.NopCloser(strings.NewReader(stream)), Header: http.Header{}}
	err = sdk.Read(func() {}, ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(res), nil), r.event)
	if err == nil && r.done != nil {
		parts = append(parts, model.Part{Done: r.done})
	}
	return parts, err
}

// TestOddStreams are shapes that servers beside OpenAI's have.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	completed := `data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}` + "\n\n"
	for name, c := range map[string]struct{ stream, want string }{
		"text without pieces":   {`data: {"type":"response.output_text.done","output_index":0,"content_index":0,"text":"all"}` + "\n\n" + completed, "text all, done stop"},
		"a call that was cut":   {`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","status":"incomplete","call_id":"c","name":"n","arguments":"{"}}` + "\n\n" + `data: {"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}` + "\n\n", "done length"},
		"a call without words":  {`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"n","arguments":""}}` + "\n\n" + completed, "call n {}, done tool_calls"},
		"an unfinished item":    {`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"n","arguments":""}}` + "\n\n" + completed, "error malformed"},
		"refusal of the model":  {`data: {"type":"response.refusal.done","output_index":0,"refusal":"I will not."}` + "\n\n" + completed, "error refused"},
		"failed without reason": {`data: {"type":"response.failed","response":{"id":"r","status":"failed","error":null}}` + "\n\n", "error bad_request"},
		"cancelled":             {`data: {"type":"response.completed","response":{"id":"r","status":"cancelled"}}` + "\n\n", "done cancelled"},
		"summary in two parts":  {`data: {"type":"response.reasoning_summary_text.delta","delta":"a"}` + "\n\n" + `data: {"type":"response.reasoning_summary_part.added","summary_index":1}` + "\n\n" + `data: {"type":"response.reasoning_summary_text.delta","delta":"b"}` + "\n\n" + completed, "thought a, thought \n\n, thought b, done stop"},
	} {
		parts, err := played(t, c.stream)
		if got := written(parts, err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func written(parts []model.Part, err error) string {
	var all []string
	for _, p := range parts {
		switch {
		case p.Text != "":
			all = append(all, "text "+p.Text)
		case p.Reasoning != nil:
			all = append(all, "thought "+p.Reasoning.GetText())
		case p.ToolCall != nil:
			all = append(all, "call "+p.ToolCall.GetName()+" "+p.ToolCall.GetArguments())
		case p.Done != nil:
			all = append(all, "done "+p.Done.FinishReason)
		}
	}
	if e, ok := err.(*model.Error); ok { //nolint:errorlint // what the reader makes is not wrapped
		all = append(all, "error "+string(e.Category))
	} else if err != nil {
		all = append(all, "error of the stream")
	}
	return strings.Join(all, ", ")
}

// FuzzStream: whatever bytes come, no part is empty and nothing comes behind Done.
func FuzzStream(f *testing.F) {
	f.Add(`data: {"type":"response.output_text.delta","delta":"a","output_index":0}` + "\n\n" + `data: {"type":"response.completed","response":{"id":"r","status":"completed"}}` + "\n\n")
	f.Add(`data: {"type":"response.output_item.done","output_index":-1,"item":{"type":"reasoning","encrypted_content":"x","summary":null}}` + "\n\n")
	f.Add("event: error\ndata: {\"error\":[]}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		parts, err := played(t, stream)
		for i, p := range parts {
			if p.Text == "" && p.Reasoning == nil && p.ToolCall == nil && p.Done == nil || p.Done != nil && (i != len(parts)-1 || err != nil) {
				t.Errorf("part %d of %d is %+v, %v", i, len(parts), p, err)
			}
		}
	})
}
