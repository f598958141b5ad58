package modeltest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

//go:embed testdata/session.golden
var goldenSession string

// session is what the model says in the session that is the same for all providers.
var session = []Answer{
	{
		Reasoning: "Two files may tell it.\nI read both.", Text: []string{"I look at ", "two files."}, Finish: "tool_calls", Usage: usage(),
		Calls: []Call{{"call_a", "read", `{"path":"Grüße.txt","lines":[1,2]}`}, {"call_b", "read", `{"path":"b \"quoted\".txt"}`}},
	},
	{Reasoning: "One is missing.", Calls: []Call{{"call_c", "list", `{}`}}, Finish: "tool_calls", Usage: usage()},
	{Text: []string{"There are ", "two: 🎉"}, Finish: "stop", Usage: usage()},
}

// testSession plays the session and compares its transcript.
func testSession(t *testing.T, w Wire) {
	m, asked := w.serve(t, func(n int) reply { return reply{pieces: pieces(w.Answer(session[n]))} })
	req := rich(w.Provider)
	req.Files = map[string][]byte{}
	req.History = []*messagev1.Item{user("What is here?")}
	req.History[0].GetUser().Attachments = []*messagev1.Attachment{picture(req.Files, "art_1", "here.png", "image/png")}
	for n := range session {
		s := ask(t.Context(), t, m, req).whole(t)
		req.History = slices.Concat(req.History, s.items(w.Provider))
		if n == 1 {
			req.History[len(req.History)-1].GetToolResult().Attachments = []*messagev1.Attachment{picture(req.Files, "art_2", "list.webp", "image/webp")}
		}
		if w := usage(); s.done.Usage.GetInputTokens() != w.GetInputTokens() || s.done.Usage.GetCachedInputTokens() != w.GetCachedInputTokens() {
			t.Errorf("the usage is %v, want %v", s.done.Usage, w)
		}
	}
	questions := asked.questions()
	if got, want := images(questions[len(questions)-1].History), images(w.told(req)); got != want {
		t.Errorf("the last request shows %s, want %s", got, want)
	}
	if got := transcript(req.History); got != goldenSession {
		t.Errorf("the transcript is\n%s\nwant testdata/session.golden:\n%s", got, goldenSession)
	}
}

// transcript writes a history without what differs between providers: ids, usage
// and sealed bytes.
func transcript(history []*messagev1.Item) string {
	var b strings.Builder
	names := map[string]string{}
	for _, item := range history {
		switch m := item.GetItem().(type) {
		case *messagev1.Item_User:
			fmt.Fprintf(&b, "user: %q\n%s", m.User.GetText(), beside(m.User.GetAttachments()))
		case *messagev1.Item_Developer:
			fmt.Fprintf(&b, "developer: %q\n", m.Developer.GetText())
		case *messagev1.Item_ToolResult:
			fmt.Fprintf(&b, "result of %s: error %v, %q\n%s", names[m.ToolResult.GetCallId()], m.ToolResult.GetIsError(), m.ToolResult.GetText(), beside(m.ToolResult.GetAttachments()))
		case *messagev1.Item_Assistant:
			fmt.Fprintf(&b, "assistant, %s:\n", m.Assistant.GetFinishReason())
			answer(&b, m.Assistant, names)
		}
	}
	return b.String()
}

// beside writes the files beside a text.
func beside(files []*messagev1.Attachment) string {
	var b strings.Builder
	for _, a := range files {
		fmt.Fprintf(&b, "  beside it: %q, %s, %d bytes\n", a.GetName(), a.GetMediaType(), a.GetSize())
	}
	return b.String()
}

// images says where which images stand in a history.
func images(history []*messagev1.Item) string {
	var b strings.Builder
	for i, item := range history {
		for _, a := range slices.Concat(item.GetUser().GetAttachments(), item.GetToolResult().GetAttachments()) {
			fmt.Fprintf(&b, "%d: %s %s; ", i, a.GetMediaType(), a.GetSha256())
		}
	}
	return b.String()
}

// answer writes the parts of an answer; pieces of a thought are one.
func answer(b *strings.Builder, m *messagev1.AssistantMessage, names map[string]string) {
	thought := ""
	for _, p := range m.GetParts() {
		thought += p.GetReasoning().GetText()
	}
	if thought != "" {
		fmt.Fprintf(b, "  thinks: %q\n", thought)
	}
	for _, p := range m.GetParts() {
		switch p := p.GetPart().(type) {
		case *messagev1.AssistantPart_Text:
			fmt.Fprintf(b, "  says: %q\n", p.Text)
		case *messagev1.AssistantPart_ToolCall:
			names[p.ToolCall.GetId()] = fmt.Sprintf("call %d", len(names)+1)
			fmt.Fprintf(b, "  %s: %s %s\n", names[p.ToolCall.GetId()], p.ToolCall.GetName(), compact(p.ToolCall.GetArguments()))
		}
	}
}

// compact writes JSON with sorted keys and no space.
func compact(s string) string {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return s
	}
	return string(data)
}
