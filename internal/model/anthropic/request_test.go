package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

func part(of any) *messagev1.AssistantPart {
	switch v := of.(type) {
	case string:
		return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: v}}
	case *messagev1.ToolCall:
		return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: v}}
	case *messagev1.Reasoning:
		return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: v}}
	}
	return nil
}

func assistantOf(provider string, parts ...any) *messagev1.Item {
	a := &messagev1.AssistantMessage{Provider: provider}
	for _, p := range parts {
		a.Parts = append(a.Parts, part(p))
	}
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: a}}
}

func resultOf(id, text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: id, Name: "read", Text: text}}}
}

// TestThinking: how each generation of models is told to think, and what an answer
// without a named limit may take.
func TestThinking(t *testing.T) {
	t.Parallel()
	type want struct {
		Max      int             `json:"max_tokens"`
		Thinking json.RawMessage `json:"thinking"`
		Output   json.RawMessage `json:"output_config"`
	}
	const adaptive = `{"display":"summarized","type":"adaptive"}`
	for _, one := range []struct {
		id, effort string
		most, max  int
		thinking   string
		output     string
	}{
		{"claude-opus-5-5", "", 0, 16384, "", ""},
		{"claude-opus-5-5", "low", 0, 16384, adaptive, `{"effort":"low"}`},
		{"claude-opus-5-5", "minimal", 0, 16384, adaptive, `{"effort":"low"}`},
		{"claude-sonnet-4-6", "max", 900, 900, adaptive, `{"effort":"max"}`},
		{"claude-later-9", "none", 0, 16384, "", `{"effort":"low"}`},
		{"claude-opus-4-20250514", "high", 0, 16384, `{"budget_tokens":8192,"type":"enabled"}`, ""},
		{"claude-sonnet-4-5-20250929", "max", 0, 16384, `{"budget_tokens":12288,"type":"enabled"}`, ""},
		{"claude-haiku-4-5", "medium", 2000, 2000, `{"budget_tokens":1024,"type":"enabled"}`, ""},
		{"claude-haiku-4-5", "high", 1024, 1024, "", ""},
		{"claude-haiku-4-5", "max", 1200, 1200, "", ""},
		{"claude-haiku-4-5", "none", 0, 16384, "", ""},
		{"claude-haiku-4-5", "", 0, 16384, "", ""},
		{"claude-3-7-sonnet-latest", "low", 0, 16384, `{"budget_tokens":2048,"type":"enabled"}`, ""},
		{"claude-3-5-haiku-latest", "high", 0, 8192, "", ""},
		{"claude-3-haiku-20240307", "high", 0, 4096, "", ""},
	} {
		req := hello()
		req.Effort, req.MaxOutputTokens = one.effort, one.most
		var got want
		body := sent(t, one.id, req)
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if got.Max != one.max || string(got.Thinking) != one.thinking || string(got.Output) != one.output {
			t.Errorf("%s with %q: %s, want %d, %s, %s", one.id, one.effort, body, one.max, one.thinking, one.output)
		}
	}
}

// TestOpenAnswerOfAnother: calls that another provider's answer opened are answered
// without asking for thought where a budget would want one before them.
func TestOpenAnswerOfAnother(t *testing.T) {
	t.Parallel()
	call := &messagev1.ToolCall{Id: "c", Name: "read", Arguments: "{}"}
	sealed := &messagev1.Reasoning{Private: []byte(`{"type":"thinking","thinking":"Hm.","signature":"s"}`)}
	for name, one := range map[string]struct {
		history []*messagev1.Item
		thinks  bool
	}{
		"another's":      {[]*messagev1.Item{user("a"), assistantOf("openai", sealed, call), resultOf("c", "r")}, false},
		"its own":        {[]*messagev1.Item{user("a"), assistantOf("anthropic", sealed, call), resultOf("c", "r")}, true},
		"own, unsealed":  {[]*messagev1.Item{user("a"), assistantOf("anthropic", call), resultOf("c", "r")}, false},
		"answered since": {[]*messagev1.Item{user("a"), assistantOf("openai", call), resultOf("c", "r"), assistantOf("openai", "b"), user("d")}, true},
	} {
		body := sent(t, "claude-haiku-4-5", model.Request{History: one.history, Effort: "low"})
		if got := strings.Contains(body, `"budget_tokens"`); got != one.thinks {
			t.Errorf("%s: thought is asked for: %v, want %v: %s", name, got, one.thinks, body)
		}
	}
}

// TestMessages: what the history becomes, to the byte, so that prefixes stay the same.
func TestMessages(t *testing.T) {
	t.Parallel()
	history := []*messagev1.Item{
		user("One."), user("  "), user("Two."),
		assistantOf("openai", &messagev1.Reasoning{Text: "mine", Private: []byte("{}")}), // nothing is left of it
		user("Three."),
		assistantOf("anthropic",
			&messagev1.Reasoning{Text: "<Hm>"},
			&messagev1.Reasoning{Private: []byte(`{"type":"thinking","thinking":"<Hm>","signature":"s/+="}`)},
			&messagev1.Reasoning{Private: []byte(`{"type":"redacted_thinking","data":"d"}`)},
			&messagev1.Reasoning{Private: []byte(`not ours`)},
			" ", "I look.",
			&messagev1.ToolCall{Id: "functions.read:0", Name: "read", Arguments: `{"big":12345678901234567890,"p":1.0}`},
			&messagev1.ToolCall{Id: "ok_1", Name: "read", Arguments: `{"cut":`}),
		resultOf("functions.read:0", "r"),
		{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: "ok_1", Text: " ", IsError: true}}},
		assistantOf("anthropic"), // blank
		{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: "Go on."}}},
	}
	body := sent(t, "claude-x", model.Request{Instructions: "Be brief.", History: history, Tools: []model.ToolSpec{{Name: "read", Schema: []byte(`{ "type":"object", "z":1, "a":2 }`)}}})
	const want = `{"max_tokens":16384,"messages":[` +
		`{"content":[{"text":"One.","type":"text"},{"text":"Two.","type":"text"},{"text":"Three.","cache_control":{"type":"ephemeral"},"type":"text"}],"role":"user"},` +
		`{"content":[{"type":"thinking","thinking":"\u003cHm\u003e","signature":"s/+="},{"type":"redacted_thinking","data":"d"},{"text":"I look.","type":"text"},` +
		`{"id":"call_IDHASH","input":{"big":12345678901234567890,"p":1.0},"name":"read","type":"tool_use"},` +
		`{"id":"ok_1","input":{"invalid_arguments":"{\"cut\":"},"name":"read","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"call_IDHASH","content":[{"text":"r","type":"text"}],"type":"tool_result"},{"tool_use_id":"ok_1","is_error":true,"type":"tool_result"},` +
		`{"text":"\u003cdeveloper\u003e\nGo on.\n\u003c/developer\u003e","cache_control":{"type":"ephemeral"},"type":"text"}],"role":"user"}],` +
		`"model":"claude-x","system":[{"text":"Be brief.","cache_control":{"type":"ephemeral"},"type":"text"}],` +
		`"tools":[{"input_schema":{"type":"object","z":1,"a":2},"name":"read"}],"stream":true}`
	at := strings.Index(body, `"id":"call_`)
	if at < 0 || len(body) < at+35 {
		t.Fatalf("the foreign id is not replaced: %s", body)
	}
	if got := strings.ReplaceAll(body, body[at+11:at+35], "IDHASH"); got != want {
		t.Errorf("the request is\n%s\nwant\n%s", got, want)
	}
}

// TestMarkOnTools: without instructions the tools are what is stable.
func TestMarkOnTools(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Tools = []model.ToolSpec{{Name: "a", Schema: []byte(`{"type":"object"}`)}, {Name: "b", Schema: []byte(`{"type":"object"}`)}}
	if body := sent(t, "claude-x", req); strings.Count(body, "cache_control") != 2 || !strings.Contains(body, `"name":"b","cache_control":{"type":"ephemeral"}`) {
		t.Errorf("the marks stand at other places: %s", body)
	}
}

// TestSchema: the answer's schema as the API takes it.
func TestSchema(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"],"additionalProperties":false}`: `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":2}}}`:                                                        `{"additionalProperties":false,"properties":{"a":{"description":"{minLength: 2}","type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`:                                `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"$ref":"#/$defs/d"},{"type":"null"}]}},"$defs":{"d":{"type":"string"}}}`:       `{"$defs":{"d":{"type":"string"}},"additionalProperties":false,"properties":{"a":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]}},"type":"object"}`,
	} {
		req := hello()
		req.Schema = json.RawMessage(in)
		if body := sent(t, "claude-x", req); !strings.Contains(body, `"output_config":{"format":{"type":"json_schema","schema":`+want+`}}`) {
			t.Errorf("%s is sent in %s, want %s", in, body, want)
		}
	}
}

// TestSchemaInWords: what the API, or an older model, cannot hold an answer to is asked
// for instead.
func TestSchemaInWords(t *testing.T) {
	t.Parallel()
	for schema, id := range map[string]string{
		`{"type":"object","additionalProperties":{"type":"number"}}`:                                                  "claude-x",
		`{"type":"object","properties":{"a":{"type":["string","null"],"minLength":1}},"additionalProperties":false}`:  "claude-x",
		`{"type":"object","properties":{"a":{"type":["string","null"],"format":"zzz"}},"additionalProperties":false}`: "claude-x",
		`{"type":"object","properties":{"a":{"description":"anything"}},"additionalProperties":false}`:                "claude-x",
		`{"type":"object","properties":{"a":{"$ref":"https://host.example/a"}},"additionalProperties":false}`:         "claude-x",
		`{"type":"object","properties":{},"additionalProperties":false}`:                                              "claude-sonnet-4-20250514",
	} {
		req := hello()
		req.Instructions, req.Schema = "Be brief.", json.RawMessage(schema)
		var got struct {
			System []struct{ Text string }
			Output *json.RawMessage `json:"output_config"`
		}
		body := sent(t, id, req)
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if got.Output != nil || len(got.System) != 1 || got.System[0].Text != "Be brief.\n\nAnswer with one JSON object that keeps to this JSON Schema:\n"+schema {
			t.Errorf("%s is sent in %s", schema, body)
		}
	}
}

// TestImages: images as blocks, to the byte. A result that is an error takes none.
func TestImages(t *testing.T) {
	t.Parallel()
	png := &messagev1.Attachment{ArtifactId: "art_1", Name: "a.png", MediaType: "image/png", Size: 2}
	pdf := &messagev1.Attachment{ArtifactId: "art_2", Name: "b.pdf", MediaType: "application/pdf", Size: 9}
	history := []*messagev1.Item{
		user("See."), assistantOf("openai", &messagev1.ToolCall{Id: "a", Name: "read", Arguments: "{}"}, &messagev1.ToolCall{Id: "b", Name: "read", Arguments: "{}"}),
		resultOf("a", "r"), resultOf("b", " "), user(""),
	}
	history[0].GetUser().Attachments = []*messagev1.Attachment{png, pdf}
	history[2].GetToolResult().Attachments = []*messagev1.Attachment{png}
	history[3].GetToolResult().Attachments = []*messagev1.Attachment{png}
	history[3].GetToolResult().IsError = true
	history[4].GetUser().Attachments = []*messagev1.Attachment{png}
	body := sent(t, "claude-x", model.Request{History: history, Files: map[string][]byte{"art_1": []byte("\xfb\xff"), "art_2": []byte("%PDF")}})
	const image = `{"source":{"data":"+/8=","media_type":"image/png","type":"base64"},"type":"image"}`
	const marked = `{"source":{"data":"+/8=","media_type":"image/png","type":"base64"},"cache_control":{"type":"ephemeral"},"type":"image"}`
	const want = `"messages":[` +
		`{"content":[{"text":"See.\n[the file b.pdf (application/pdf, 9 bytes) cannot be shown to this model]","type":"text"},` + marked + `],"role":"user"},` +
		`{"content":[{"id":"a","input":{},"name":"read","type":"tool_use"},{"id":"b","input":{},"name":"read","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"a","content":[{"text":"r","type":"text"},` + image + `],"type":"tool_result"},` +
		`{"tool_use_id":"b","is_error":true,"content":[{"text":"[the file a.png (image/png, 2 bytes) cannot be shown to this model]","type":"text"}],"type":"tool_result"},` +
		marked + `],"role":"user"}]`
	if !strings.Contains(body, want) {
		t.Errorf("the request is\n%s\nwant in it\n%s", body, want)
	}
}
