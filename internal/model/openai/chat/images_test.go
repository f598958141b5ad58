package chat

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// TestMessages: what the history becomes, to the byte, with and without images; what
// was sent stays as it was when more follows.
func TestMessages(t *testing.T) {
	t.Parallel()
	png := &messagev1.Attachment{ArtifactId: "art_1", Name: "a \"b\".png", MediaType: "image/png", Size: 2}
	pdf := &messagev1.Attachment{ArtifactId: "art_2", Name: "b.pdf", MediaType: "application/pdf", Size: 9}
	user := func(text string, beside ...*messagev1.Attachment) *messagev1.Item {
		return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text, Attachments: beside}}}
	}
	result := func(id, text string, beside ...*messagev1.Attachment) *messagev1.Item {
		return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: id, Name: "n", Text: text, Attachments: beside}}}
	}
	calls := &messagev1.AssistantMessage{}
	for _, id := range []string{"callcallA", "callcallB"} {
		calls.Parts = append(calls.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: id, Name: "n", Arguments: "{}"}}})
	}
	call := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"n","arguments":"{}"}}`
	}
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,+/8="}}`
	const words = `[the file b.pdf (application/pdf, 9 bytes) cannot be shown to this model]`
	history := []*messagev1.Item{
		user("<Hi>"), user("See.", pdf, png), user("", png), {Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{}}},
		{Item: &messagev1.Item_Assistant{Assistant: calls}}, result("callcallA", "", png, pdf), result("callcallB", "r", png), user("And?"),
	}
	want := []string{
		`{"role":"user","content":"<Hi>"}`,
		`{"role":"user","content":[{"type":"text","text":"See.\n` + words + `"},` + image + `]}`,
		`{"role":"user","content":[` + image + `]}`,
		`{"role":"assistant","tool_calls":[` + call("callcallA") + `,` + call("callcallB") + `]}`,
		`{"role":"tool","content":"` + words + `","tool_call_id":"callcallA"}`,
		`{"role":"tool","content":"r","tool_call_id":"callcallB"}`,
		`{"role":"assistant","content":"Understood."}`, // for one host only
		`{"role":"user","content":[{"type":"text","text":"The image \"a \\\"b\\\".png\", from the result of the call callcallA:"},` + image +
			`,{"type":"text","text":"The image \"a \\\"b\\\".png\", from the result of the call callcallB:"},` + image + `]}`,
		`{"role":"user","content":"And?"}`,
	}
	for name, all := range map[string][]string{"mistral": want, "vllm": append(append([]string{}, want[:6]...), want[7:]...)} {
		h, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		req := model.Request{Files: map[string][]byte{"art_1": []byte("\xfb\xff"), "art_2": []byte("%PDF")}, History: history}
		if got := lines(t, h.messages(req)); got != strings.Join(all, "\n") {
			t.Errorf("%s: the messages are\n%s\nwant\n%s", name, got, strings.Join(all, "\n"))
		}
		req.History = history[:7]
		if got := lines(t, h.messages(req)); got != strings.Join(all[:len(all)-1], "\n") {
			t.Errorf("%s: before the last message they are\n%s\nwant\n%s", name, got, strings.Join(all[:len(all)-1], "\n"))
		}
	}
}

// lines writes messages as they are sent, one a line.
func lines(t *testing.T, all []message) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range all {
		if err := e.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestBridge: a host that wants it gets an answer between a tool and a user, also
// without images.
func TestBridge(t *testing.T) {
	t.Parallel()
	history := []*messagev1.Item{
		{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: "callcallA", Text: "r"}}},
		{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: "Go on."}}},
		{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: "Yes."}}},
	}
	for name, want := range map[string]string{"mistral": "tool assistant user user", "groq": "tool system user", "openai": "tool developer user"} {
		h, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		var roles []string
		for _, m := range h.messages(model.Request{History: history}) {
			roles = append(roles, m.Role)
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("%s: the roles are %s, want %s", name, got, want)
		}
	}
}
