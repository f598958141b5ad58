package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// kept is the answer's item as a turn keeps it: pieces of text joined, calls without
// an id named.
func kept(parts []model.Part) *messagev1.AssistantMessage {
	a := &messagev1.AssistantMessage{Provider: "gemini"}
	for _, p := range parts {
		last := len(a.Parts) - 1
		switch {
		case p.Text != "" && last >= 0 && a.Parts[last].GetText() != "":
			a.Parts[last] = textPart(a.Parts[last].GetText() + p.Text)
		case p.Text != "":
			a.Parts = append(a.Parts, textPart(p.Text))
		case p.Reasoning != nil:
			a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: p.Reasoning}})
		case p.ToolCall != nil:
			if p.ToolCall.Id == "" {
				p.ToolCall.Id = "named_" + p.ToolCall.GetName()
			}
			a.Parts = append(a.Parts, callPart(p.ToolCall))
		}
	}
	return a
}

func textPart(s string) *messagev1.AssistantPart {
	return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: s}}
}

func callPart(c *messagev1.ToolCall) *messagev1.AssistantPart {
	return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: c}}
}

func answered(a *messagev1.AssistantMessage) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: a}}
}

func result(id, name, text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: id, Name: name, Text: text}}}
}

// sent is the request that a server got for req.
func sent(t *testing.T, id string, req model.Request) string {
	t.Helper()
	s := serve(t, stream(ended("STOP", object{"text": "a"})))
	if _, err := ask(t.Context(), open(t, s.base, id), req); err != nil {
		t.Fatal(err)
	}
	return s.body
}

// contentsOf are the contents of a request, each as JSON.
func contentsOf(t *testing.T, body string) []string {
	t.Helper()
	var r struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range r.Contents {
		all = append(all, string(c))
	}
	return all
}

// TestSignaturesInPlace: each signature goes back in the part that it came with, and
// results are paired by order where the calls had no ids.
func TestSignaturesInPlace(t *testing.T) {
	t.Parallel()
	s := serve(t, stream(
		frame(chunkOf(object{"text": "Hm.", "thought": true}, object{"text": "Well.", "thought": true, "thoughtSignature": "dGg="})),
		frame(chunkOf(object{"text": "Grü"})), frame(chunkOf(object{"text": "ße. "})),
		frame(chunkOf(object{"text": "Signed.", "thoughtSignature": "dHg="})), frame(chunkOf(object{"text": " More."})),
		frame(chunkOf(object{"text": "", "thoughtSignature": "ZQ=="})),
		frame(chunkOf(object{"functionCall": object{"name": "one", "args": object{"a": 1}}, "thoughtSignature": "Yw=="}, object{"functionCall": object{"name": "two"}})),
		ended("STOP", object{"text": ""}),
	))
	m := open(t, s.base, "gemini-3-flash")
	parts, err := ask(t.Context(), m, hello())
	if err != nil {
		t.Fatal(err)
	}
	a := kept(parts)
	if last := parts[len(parts)-1].Done; last.FinishReason != "tool_calls" {
		t.Errorf("the finish reason is %s", last.FinishReason)
	}
	history := []*messagev1.Item{user("Hello."), answered(a), result("named_two", "two", "second"), result("named_one", "one", "first"), user("Next.")}
	got := contentsOf(t, sent(t, "gemini-3-flash", model.Request{History: history}))
	want := []string{
		`{"role":"user","parts":[{"text":"Hello."}]}`,
		`{"role":"model","parts":[{"text":"Well.","thought":true,"thoughtSignature":"dGg="},{"text":"Grüße. "},{"text":"Signed.","thoughtSignature":"dHg="},{"text":" More."},` +
			`{"text":"","thoughtSignature":"ZQ=="},{"thoughtSignature":"Yw==","functionCall":{"name":"one","args":{"a":1}}},{"functionCall":{"name":"two","args":{}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"one","response":{"output":"first"}}},{"functionResponse":{"name":"two","response":{"output":"second"}}},{"text":"Next."}]}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the contents are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	a.Provider = "another"
	if body := sent(t, "gemini-3-flash", model.Request{History: history}); strings.Contains(body, "dHg=") || !strings.Contains(body, `"text":"Grüße. Signed. More."`) {
		t.Errorf("another's answer goes back as %s", body)
	}
	a.Provider = "gemini"
	a.Parts = append(a.Parts, textPart("added")) // the seal does not fit any more
	if body := sent(t, "gemini-3-flash", model.Request{History: history}); strings.Contains(body, "dGg=") || !strings.Contains(body, `"added"`) || !strings.Contains(body, `"id":"named_one"`) {
		t.Errorf("an answer that does not fit its seal goes back as %s", body)
	}
}

// TestStandInSignature: newer models want a signature with the first call of an answer
// that another model made; older ones know none.
func TestStandInSignature(t *testing.T) {
	t.Parallel()
	calls := &messagev1.AssistantMessage{Provider: "openai", Parts: []*messagev1.AssistantPart{
		callPart(&messagev1.ToolCall{Id: "a", Name: "f", Arguments: `{"cut`}), callPart(&messagev1.ToolCall{Id: "b", Name: "g"}),
	}}
	history := []*messagev1.Item{user("x"), answered(calls), result("a", "f", "1"), result("b", "g", "2")}
	for id, want := range map[string]int{"gemini-3-pro": 1, "gemini-later": 1, "gemini-2.5-flash": 0, "gemini-2.0-flash": 0} {
		body := sent(t, id, model.Request{History: history})
		if got := strings.Count(body, "skip_thought_signature_validator"); got != want {
			t.Errorf("%s: %d stand-ins, want %d: %s", id, got, want, body)
		}
		if want == 1 && !strings.Contains(body, `{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"id":"a","name":"f","args":{"invalid_arguments":"{\"cut"}}}`) {
			t.Errorf("%s: the first call is not the signed one: %s", id, body)
		}
	}
}

// TestThinking: how each generation is told to think.
func TestThinking(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ id, effort, want string }{
		{"gemini-3-flash", "", ""},
		{"gemini-3-flash", "none", `{"thinkingConfig":{"thinkingLevel":"LOW"}}`},
		{"gemini-3-flash", "medium", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MEDIUM"}}`},
		{"gemini-3-pro-preview", "medium", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`},
		{"gemini-later", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`},
		{"models/gemini-2.5-flash", "none", `{"thinkingConfig":{"thinkingBudget":0}}`},
		{"gemini-2.5-flash", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}}`},
		{"gemini-2.5-pro", "none", `{"thinkingConfig":{"thinkingBudget":128}}`},
		{"gemini-2.5-pro", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}`},
		{"gemini-2.0-flash", "high", ""},
		{"gemma-3", "high", ""},
	} {
		req := hello()
		req.Effort = one.effort
		want := `{"contents":[{"role":"user","parts":[{"text":"Hello."}]}]}`
		if one.want != "" {
			want = strings.TrimSuffix(want, "}") + `,"generationConfig":` + one.want + "}"
		}
		if body := sent(t, one.id, req); body != want {
			t.Errorf("%s with %q: %s, want %s", one.id, one.effort, body, want)
		}
	}
}

// TestTurns: roles take turns, and what is blank is left out.
func TestTurns(t *testing.T) {
	t.Parallel()
	history := []*messagev1.Item{
		user("One."), user(" "), answered(&messagev1.AssistantMessage{Provider: "gemini"}), user("Two."),
		answered(&messagev1.AssistantMessage{Provider: "x", Parts: []*messagev1.AssistantPart{
			{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Text: "Hm.", Private: []byte("zzz")}}}, textPart("\n"), textPart("Yes."),
		}}),
		{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: "Go on."}}},
		result("gone", "f", "of no call"),
	}
	got := strings.Join(contentsOf(t, sent(t, "x", model.Request{History: history})), "\n")
	want := `{"role":"user","parts":[{"text":"One."},{"text":"Two."}]}` + "\n" +
		`{"role":"model","parts":[{"text":"Yes."}]}` + "\n" +
		`{"role":"user","parts":[{"text":"\u003cdeveloper\u003e\nGo on.\n\u003c/developer\u003e"},{"functionResponse":{"id":"gone","name":"f","response":{"output":"of no call"}}}]}`
	if got != want {
		t.Errorf("the contents are\n%s\nwant\n%s", got, want)
	}
}

// TestImages: images as parts, to the byte: behind the words of a user, and behind
// all results with a word on where each comes from.
func TestImages(t *testing.T) {
	t.Parallel()
	png := &messagev1.Attachment{ArtifactId: "art_1", Name: "a.png", MediaType: "image/png", Size: 2}
	gif := &messagev1.Attachment{ArtifactId: "art_2", Name: "b.gif", MediaType: "image/gif", Size: 9}
	calls := &messagev1.AssistantMessage{Provider: "openai", Parts: []*messagev1.AssistantPart{
		callPart(&messagev1.ToolCall{Id: "a", Name: "f"}), callPart(&messagev1.ToolCall{Id: "b", Name: "g"}),
	}}
	history := []*messagev1.Item{user("x"), answered(calls), result("b", "g", "2"), result("a", "f", "1"), user("Next.")}
	history[0].GetUser().Attachments = []*messagev1.Attachment{png, gif}
	history[2].GetToolResult().Attachments = []*messagev1.Attachment{png}
	history[3].GetToolResult().Attachments = []*messagev1.Attachment{gif, png}
	req := model.Request{History: history, Files: map[string][]byte{"art_1": []byte("\xfb\xff"), "art_2": []byte("GIF89a")}}
	const image = `{"inlineData":{"mimeType":"image/png","data":"+/8="}}`
	const words = `[the file b.gif (image/gif, 9 bytes) cannot be shown to this model]`
	want := []string{
		`{"role":"user","parts":[{"text":"x\n` + words + `"},` + image + `]}`,
		`{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}}},{"functionCall":{"id":"b","name":"g","args":{}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"1\n` + words + `"}}},{"functionResponse":{"id":"b","name":"g","response":{"output":"2"}}},` +
			`{"text":"The image \"a.png\", from the result of f (a):"},` + image + `,{"text":"The image \"a.png\", from the result of g (b):"},` + image,
	}
	got := contentsOf(t, sent(t, "gemini-2.5-flash", req))
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n")+`,{"text":"Next."}]}`; g != w {
		t.Errorf("the contents are\n%s\nwant\n%s", g, w)
	}
	req.History = history[:4]
	got = contentsOf(t, sent(t, "gemini-2.5-flash", req))
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n")+`]}`; g != w {
		t.Errorf("one message before, the contents are\n%s\nwant\n%s", g, w)
	}
}

// TestSchemaAndTools: older models take a schema or tools, so that with tools the
// schema is asked for in words.
func TestSchemaAndTools(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Schema = json.RawMessage(`{"type":"object"}`)
	for id, tools := range map[string]bool{"gemini-2.5-flash": false, "gemini-3-pro": true} {
		if body := sent(t, id, req); !strings.Contains(body, `"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}`) || strings.Contains(body, "systemInstruction") {
			t.Errorf("%s gets %s", id, body)
		}
		both := req
		both.Tools = []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}}
		body := sent(t, id, both)
		inWords := strings.Contains(body, `"systemInstruction":{"parts":[{"text":"Answer with one JSON object that keeps to this JSON Schema:\n{\"type\":\"object\"}"}]}`)
		if inWords == tools || strings.Contains(body, "responseMimeType") != tools {
			t.Errorf("%s with tools gets %s", id, body)
		}
	}
}
