package modeltest

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"google.golang.org/protobuf/proto"
)

func usage() *messagev1.Usage {
	return &messagev1.Usage{InputTokens: 120, OutputTokens: 34, CachedInputTokens: 100, ReasoningTokens: 8}
}

// rich is a request that uses everything that a request can hold.
func rich(provider string) model.Request {
	req := request()
	req.Effort, req.MaxOutputTokens = "high", 4000
	req.Schema = []byte(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)
	req.Tools = append(req.Tools, model.ToolSpec{Name: "list", Description: "Lists a folder.", Schema: []byte(`{"type":"object","properties":{}}`)})
	req.History = []*messagev1.Item{
		user("Grüße \"<&>\" 🎉\n\tand more"),
		assistant(provider,
			text("I look."),
			call("call_1", "read", `{"path":"a \"b\""}`), call("call_2", "list", `{}`)),
		result("call_1", "read", "the text\nof a", false),
		result("call_2", "list", "", true),
		assistant(provider, text("Here it is.")),
		{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: "Say it again."}}},
		user("Please."),
	}
	return req
}

func assistant(provider string, parts ...*messagev1.AssistantPart) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{Parts: parts, Provider: provider}}}
}

func text(s string) *messagev1.AssistantPart {
	return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: s}}
}

func thought(s string, private []byte) *messagev1.AssistantPart {
	return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Text: s, Private: private}}}
}

func call(id, name, args string) *messagev1.AssistantPart {
	return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: id, Name: name, Arguments: args}}}
}

func result(id, name, text string, isError bool) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: id, Name: name, Text: text, IsError: isError}}}
}

// testRequest: what the server reads is what the caller said.
func testRequest(t *testing.T, w Wire) {
	m, s := w.serve(t, func(int) reply { return reply{pieces: pieces(w.Answer(sample))} })
	req := rich(w.Provider)
	ask(t.Context(), t, m, req).whole(t)
	asked := s.questions()
	if len(asked) != 1 {
		t.Fatalf("%d requests came, want 1", len(asked))
	}
	asked[0].compare(t, req)
	if !asked[0].Strict && !asked[0].silent("Strict") {
		t.Error("the schema is not called strict, though it is")
	}
	before := asked[0]
	ask(t.Context(), t, m, request()).whole(t)
	if q := s.questions()[1]; q.Effort != "" || q.MaxOutputTokens != 0 && q.MaxOutputTokens == before.MaxOutputTokens || len(q.Schema) > 0 {
		t.Errorf("a plain request says %+v", q)
	}
}

// compare judges what was read against what was said.
func (q Question) compare(t *testing.T, req model.Request) {
	t.Helper()
	if q.Instructions != req.Instructions {
		t.Errorf("the instructions are %q, want %q", q.Instructions, req.Instructions)
	}
	if q.MaxOutputTokens != req.MaxOutputTokens {
		t.Errorf("the most tokens are %d, want %d", q.MaxOutputTokens, req.MaxOutputTokens)
	}
	if q.Effort != req.Effort && !q.silent("Effort") {
		t.Errorf("the effort is %q, want %q", q.Effort, req.Effort)
	}
	if q.RequestID != req.RequestID && !q.silent("RequestID") {
		t.Errorf("the request's id is %q, want %q", q.RequestID, req.RequestID)
	}
	if !sameJSON(t, string(q.Schema), string(req.Schema)) {
		t.Errorf("the schema is %s, want %s", q.Schema, req.Schema)
	}
	if len(q.Tools) != len(req.Tools) {
		t.Fatalf("there are %d tools, want %d", len(q.Tools), len(req.Tools))
	}
	for i, tool := range q.Tools {
		want := req.Tools[i]
		if tool.Name != want.Name || tool.Description != want.Description || !sameJSON(t, string(tool.Schema), string(want.Schema)) {
			t.Errorf("tool %d is %+v, want %+v", i, tool, want)
		}
	}
	q.compareHistory(t, req.History)
}

// silent tells whether the wire has no place for a field.
func (q Question) silent(field string) bool { return slices.Contains(q.Silent, field) }

func (q Question) compareHistory(t *testing.T, want []*messagev1.Item) {
	t.Helper()
	if len(q.History) != len(want) {
		t.Fatalf("the history has %d items, want %d: %v", len(q.History), len(want), q.History)
	}
	for i, item := range want {
		item = proto.CloneOf(item)
		if a := item.GetAssistant(); a != nil {
			a.Provider, a.ResponseId, a.FinishReason = "", "", ""
		}
		if r := item.GetToolResult(); r != nil {
			r.Name = q.History[i].GetToolResult().GetName() // few wires repeat it
			r.IsError = r.GetIsError() && !q.silent("IsError")
		}
		if !proto.Equal(q.History[i], item) {
			t.Errorf("item %d is %v, want %v", i, q.History[i], item)
		}
	}
}

// testForeign: thoughts of another provider go to this one without what was sealed,
// and this one's own go back as they came.
func testForeign(t *testing.T, w Wire) {
	m, s := w.serve(t, func(n int) reply {
		return reply{pieces: pieces(w.Answer(Answer{Reasoning: "I think.", Text: []string{"So."}, Finish: "stop"}))}
	})
	req := request()
	req.History = []*messagev1.Item{
		user("One."),
		assistant("another", thought("Hm.", []byte(`{"sealed":"theirs"}`)), text("Two.")),
		user("Three."),
	}
	first := ask(t.Context(), t, m, req).whole(t)
	made := first.sealed()
	theirs := assistant("another", text("Three and a half."))
	for _, private := range made { // bytes that this wire would take, under another's name
		theirs.GetAssistant().Parts = slices.Insert(theirs.GetAssistant().GetParts(), 0, thought("Hm.", []byte(private)))
	}
	req.History = append(req.History, theirs, user("Four."))
	ask(t.Context(), t, m, req).whole(t)
	for _, q := range s.questions() {
		if sent := q.sealed(); len(sent) > 0 {
			t.Errorf("sealed bytes of another provider are sent: %q", sent)
		}
	}
	req.History = slices.Concat(req.History, first.items(w.Provider), []*messagev1.Item{user("Five.")})
	ask(t.Context(), t, m, req).whole(t)
	q := s.questions()[2]
	sent := q.sealed()
	if !q.silent("Reasoning") && len(made) == 0 {
		t.Error("the thought has no sealed bytes, so that nothing can go back")
	}
	if !slices.Equal(made, sent) {
		t.Errorf("the sealed bytes go back as %q, want %q", sent, made)
	}
}

// sealed are the private bytes of an answer.
func (s said) sealed() []string {
	var all []string
	for _, r := range s.reasoning {
		if len(r.GetPrivate()) > 0 {
			all = append(all, string(r.GetPrivate()))
		}
	}
	return all
}

// sealed are the private bytes in a request.
func (q Question) sealed() []string {
	var all []string
	for _, item := range q.History {
		for _, p := range item.GetAssistant().GetParts() {
			if private := p.GetReasoning().GetPrivate(); len(private) > 0 {
				all = append(all, string(private))
			}
		}
	}
	return all
}

// testConnectionRefused: nobody listens.
func testConnectionRefused(t *testing.T, w Wire) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	l.Close()
	m := w.Open(t, base)
	sent := false
	req := request()
	req.Sent = func() { sent = true }
	Want{Category: model.Network}.check(t, ask(t.Context(), t, m, req))
	if sent {
		t.Error("Sent was called, though nothing can have left")
	}
}

// testCancelFrees: a request that is cancelled in mid-stream, or that nobody listens
// to any more, lets its connection go.
func testCancelFrees(t *testing.T, w Wire) {
	frames := w.Answer(sample)
	m, s := w.serve(t, func(int) reply {
		return reply{pieces: pieces(frames[:kindAt(frames, Text)+1]), end: endHold}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for p, err := range m.Ask(ctx, request()) {
		if last = err; p.Text != "" {
			go cancel(errStop)
		}
	}
	if !errors.Is(last, errStop) {
		t.Errorf("a cancelled answer ends with %v, want the cause", last)
	}
	<-s.gone
	for _, err := range m.Ask(t.Context(), request()) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	<-s.gone
}

// testKeepAlive: comments are no content, and the caller's timer ends the wait.
func testKeepAlive(t *testing.T, w Wire) {
	for name, first := range map[string][][]byte{"at once": nil, "after text": before(w.Answer(sample), End)} {
		m, s := w.serve(t, func(int) reply { return reply{pieces: first, end: endBeside} })
		idle := &model.Error{Category: model.Timeout, Message: "no content"}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-s.beside // the comments are on their way
			cancel(idle)
		}()
		got := ask(ctx, t, m, request())
		if first == nil && (got.text != "" || len(got.reasoning)+len(got.calls) > 0) {
			t.Errorf("%s: what keeps the connection alive becomes %+v", name, got)
		}
		if !errors.Is(got.err, idle) {
			t.Errorf("%s: the answer ends with %v, want the timer's cause", name, got.err)
		}
		<-s.gone
		cancel(nil)
	}
}

// testHeldOpen: a server that sends the end and keeps the connection open has
// answered all the same.
func testHeldOpen(t *testing.T, w Wire) {
	m, s := w.serve(t, func(int) reply { return reply{pieces: pieces(w.Answer(sample)), end: endHold} })
	Want{Text: "half said ", Finish: "stop"}.check(t, ask(t.Context(), t, m, request()))
	<-s.gone
}

// testReuse: a whole answer leaves its connection to the next request.
func testReuse(t *testing.T, w Wire) {
	m, s := w.serve(t, func(int) reply { return reply{pieces: pieces(w.Answer(sample))} })
	for range 5 {
		ask(t.Context(), t, m, request()).whole(t)
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("5 requests, one after the other, took %d connections, want 1", n)
	}
}
