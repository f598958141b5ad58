package chat

import (
	"io"
	"net/http"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for id, c := range map[string]struct {
		env  variables
		code fault.Code // "" opens
		says string
	}{
		"openai/gpt":             {env: variables{"OPENAI_API_KEY": "k"}},
		"openrouter/maker/model": {env: variables{"OPENROUTER_API_KEY": "k"}},
		"ollama/qwen3:8b":        {},
		"vllm/m":                 {},
		"lmstudio/m":             {env: variables{"LMSTUDIO_API_KEY": "k"}},
		"groq/m":                 {variables{"OPENAI_API_KEY": "k"}, fault.FailedPrecondition, "GROQ_API_KEY"},
		"groq/n":                 {variables{"GROQ_API_KEY": "k\x00"}, fault.FailedPrecondition, "GROQ_API_KEY does not hold a key"},
		"vllm/n":                 {variables{"VLLM_API_KEY": "k\nk"}, fault.FailedPrecondition, "VLLM_API_KEY does not hold a key"},
		"mistral/m":              {variables{"MISTRAL_API_KEY": "k", "MISTRAL_BASE_URL": "nowhere"}, fault.FailedPrecondition, "MISTRAL_BASE_URL"},
		"ollama/m":               {variables{"OLLAMA_HOST": "ftp://x"}, fault.FailedPrecondition, "OLLAMA_HOST"},
		"olama/m":                {nil, fault.InvalidArgument, `"ollama"`},
		"zzz/m":                  {nil, fault.InvalidArgument, "deepseek"},
		"ollama":                 {nil, fault.InvalidArgument, "openai-chat:<host>/<id>"},
		"ollama/":                {nil, fault.InvalidArgument, "openai-chat:<host>/<id>"},
	} {
		m, err := New(c.env.get).Open(t.Context(), id)
		if c.says == "" && (err != nil || m == nil) {
			t.Errorf("%s: %v", id, err)
		}
		if c.says != "" && (fault.CodeOf(err) != c.code || !strings.Contains(fault.From(err).Message, c.says)) {
			t.Errorf("%s: %v, want %s that says %s", id, err, c.code, c.says)
		}
	}
}

func TestHostOfOllama(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"127.0.0.1":                "http://127.0.0.1:11434/v1",
		"box:1234":                 "http://box:1234/v1",
		"0.0.0.0":                  "http://127.0.0.1:11434/v1",
		"0.0.0.0:80":               "http://127.0.0.1:80/v1",
		":8080":                    "http://127.0.0.1:8080/v1",
		"[::]:8080":                "http://127.0.0.1:8080/v1",
		"[::1]:8080":               "http://[::1]:8080/v1",
		"http://box":               "http://box:11434/v1",
		"https://box.example":      "https://box.example/v1",
		"https://box.example/a/v1": "https://box.example/a/v1",
		"http://box:1/":            "http://box:1/v1",
	} {
		if got := fromHost(value); got != want {
			t.Errorf("OLLAMA_HOST=%s is %s, want %s", value, got, want)
		}
	}
}

// TestThoughtsStayWithTheirHost: what one host sealed goes to no other.
func TestThoughtsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	reasoning := func(text, private string) *messagev1.AssistantPart {
		return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Text: text, Private: []byte(private)}}}
	}
	m := &messagev1.AssistantMessage{Provider: provider, Parts: []*messagev1.AssistantPart{
		reasoning("I think.", ""), reasoning("", `{"host":"deepseek"}`), reasoning("", `{"host":"openrouter","reasoning_details":[{"a":1}]}`), reasoning("", "\x00"),
	}}
	for name, want := range map[string]string{"deepseek": "reasoning_content", "openrouter": "reasoning_details", "openai": "", "groq": "", "mistral": ""} {
		h, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		var out message
		h.echo(m, &out)
		got := ""
		if out.ReasoningContent != nil && *out.ReasoningContent == "I think." {
			got += "reasoning_content"
		}
		if len(out.ReasoningDetails) > 0 {
			got += "reasoning_details"
		}
		if got != want {
			t.Errorf("%s gets back %q, want %q", name, got, want)
		}
	}
	m.Provider = "another"
	h, err := find("deepseek")
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := h.answered(m); out.ReasoningContent != nil {
		t.Errorf("another provider's thoughts go back: %+v", out)
	}
}

// played reads a stream that is given as its bytes.
func played(stream string) (parts []model.Part, err error) {
	h := host{name: "h", quirks: quirks{echoDetails: true}}
	r := &reader{host: h, give: func(p model.Part) bool { parts = append(parts, p); return true }}
	err = readStream(func() {}, &http.Response{Body: io.NopCloser(strings.NewReader(stream)), Header: http.Header{}}, r)
	if err == nil {
		err = r.end()
	}
	return parts, err
}

// TestOddStreams are shapes in which hosts depart from the format.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	finish := func(word string) string {
		return `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"` + word + `"}]}` + "\n\n"
	}
	delta := func(d string) string {
		return `data: {"id":"c","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}` + "\n\n"
	}
	for name, c := range map[string]struct{ stream, want string }{
		"no [DONE]":                 {delta(`{"content":"a"}`) + finish("stop"), "text a, done stop"},
		"[DONE] alone":              {delta(`{"content":"a"}`) + "data: [DONE]\n\n", "text a, error malformed"},
		"null as error":             {`data: {"error":null,"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + finish("stop"), "text a, done stop"},
		"text behind [DONE]":        {finish("stop") + "data: [DONE]\n\n" + delta(`{"content":"a"}`), "error malformed"},
		"a second choice":           {`data: {"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + finish("stop"), "text a, done stop"},
		"same index, two ids":       {delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"{\"a\":"}}]}`) + delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`) + delta(`{"tool_calls":[{"index":0,"id":"y","function":{"name":"m","arguments":"{}"}}]}`) + finish("tool_calls"), `call n {"a":1}, call m {}, done tool_calls`},
		"id on every piece":         {delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"{"}}]}`) + delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"}"}}]}`) + finish("tool_calls"), "call n {}, done tool_calls"},
		"no id at all":              {delta(`{"tool_calls":[{"index":0,"function":{"name":"n"}},{"index":1,"function":{"name":"m","arguments":"{}"}}]}`) + finish("stop"), "call n {}, call m {}, done tool_calls"},
		"cut in a call":             {delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"{\"a"}}]}`) + finish("length"), "done length"},
		"an old word":               {finish("function_call"), "done tool_calls"},
		"another word for length":   {finish("model_length"), "done length"},
		"an error as finish":        {delta(`{"content":"a"}`) + finish("error"), "text a, error server_error"},
		"a refusal in words":        {delta(`{"refusal":"I "}`) + delta(`{"refusal":"won't."}`) + finish("stop"), "error refused"},
		"content in a list":         {delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},{"type":"zzz"}]}`) + finish("stop"), "thought hm, text a, done stop"},
		"thoughts that are no text": {delta(`{"reasoning":{"a":1},"content":"a"}`) + finish("stop"), "text a, done stop"},
		"details that are no list":  {delta(`{"reasoning_details":7,"content":"a"}`) + finish("stop"), "text a, done stop"},
		"a word as error":           {`data: {"error":"it broke"}` + "\n\n", "error bad_request"},
	} {
		parts, err := played(c.stream)
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
	f.Add(`data: {"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"id":"x","function":{"name":"n","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}` + "\n\ndata: [DONE]\n\n")
	f.Add(`data: {"choices":[{"delta":{"reasoning_details":[{"x":1}],"reasoning":"a"},"finish_reason":"zzz"}]}` + "\n\n")
	f.Add("data: {\"error\":null}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		parts, err := played(stream)
		for i, p := range parts {
			if p.Text == "" && p.Reasoning == nil && p.ToolCall == nil && p.Done == nil || p.Done != nil && (i != len(parts)-1 || err != nil) {
				t.Errorf("part %d of %d is %+v, %v", i, len(parts), p, err)
			}
		}
	})
}
