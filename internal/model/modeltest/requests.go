package modeltest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"google.golang.org/protobuf/proto"
)

// testSent: Sent is called once, before anything comes back, also for a request
// that fails; and not before the iteration begins.
func testSent(t *testing.T, d Driver) {
	for name, a := range map[string]Answer{
		"an answer": {Text: []string{"a", "b"}, Finish: "stop"},
		"an error":  {Fail: &model.Error{Category: model.ServerError, Message: "broken"}},
	} {
		m := d.Open(t, one(a))
		sent := 0
		req := request()
		req.Sent = func() { sent++ }
		stream := m.Ask(t.Context(), req)
		if sent != 0 {
			t.Errorf("%s: Sent is called before the iteration begins", name)
		}
		for _, err := range stream {
			if (err != nil) != (a.Fail != nil) {
				t.Errorf("%s: the error is %v", name, err)
			}
			if sent != 1 {
				t.Errorf("%s: Sent was called %d times when something came, want 1", name, sent)
			}
		}
		if sent != 1 {
			t.Errorf("%s: Sent was called %d times, want 1", name, sent)
		}
	}
}

// testLeavesRequest: the request is the same after an answer as before.
func testLeavesRequest(t *testing.T, d Driver) {
	m := d.Open(t, Scenario{Answers: []Answer{
		{Text: []string{"One."}, Calls: []Call{{"call_1", "read", `{"path":"a"}`}}, Finish: "tool_calls"},
		{Text: []string{"Two."}, Finish: "stop"},
	}})
	req := request()
	first := ask(t.Context(), t, m, req).whole(t)
	req.History = append(req.History, first.items(d.Provider)...)
	var before []*messagev1.Item
	for _, item := range req.History {
		before = append(before, proto.CloneOf(item))
	}
	schema := string(req.Tools[0].Schema)
	ask(t.Context(), t, m, req).whole(t)
	for i, item := range req.History {
		if !proto.Equal(item, before[i]) {
			t.Errorf("item %d of the history is now %v, was %v", i, item, before[i])
		}
	}
	if len(req.History) != len(before) || string(req.Tools[0].Schema) != schema {
		t.Error("the request's lists changed")
	}
}

// testBreak: who stops listening frees the request, and the model works on.
func testBreak(t *testing.T, d Driver) {
	m := d.Open(t, Scenario{Answers: []Answer{{Text: []string{"one ", "two "}, Stall: true}, {Text: []string{"ok"}, Finish: "stop"}}})
	for range 3 {
		for _, err := range m.Ask(t.Context(), request()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	req := request()
	req.History = append(req.History, said{text: "one ", done: &model.Done{}}.items(d.Provider)...)
	if s := ask(t.Context(), t, m, req).whole(t); s.text != "ok" {
		t.Errorf("the next answer is %q", s.text)
	}
}

var errStop = errors.New("the test stops it")

func testCancelBefore(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"never"}, Finish: "stop"}))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if s := ask(ctx, t, m, request()); !errors.Is(s.err, errStop) || s.text != "" {
		t.Errorf("a request that was cancelled before gives %q, %v, want the cause", s.text, s.err)
	}
}

// testCancelMidway: a silent answer ends as soon as its context does.
func testCancelMidway(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"one ", "two "}, Stall: true}))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	got, ended := "", false
	for p, err := range m.Ask(ctx, request()) {
		if ended {
			t.Errorf("%+v, %v comes behind the end", p, err)
		}
		if err != nil {
			ended = true
			if !errors.Is(err, errStop) {
				t.Errorf("the error is %v, want the context's cause", err)
			}
			continue
		}
		if got += p.Text; got == "one two " {
			go cancel(errStop) // while the driver waits
		}
	}
	if !ended {
		t.Error("the cancelled stream ends without an error")
	}
}

func testConcurrent(t *testing.T, d Driver) {
	want := strings.Repeat("abcd", 50)
	pieces := make([]string, 50)
	for i := range pieces {
		pieces[i] = "abcd"
	}
	m := d.Open(t, one(Answer{Text: pieces, Calls: []Call{{"call_1", "read", `{"path":"a"}`}}, Finish: "tool_calls"}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s := ask(t.Context(), t, m, request())
			if s.err != nil || s.text != want || len(s.calls) != 1 {
				t.Errorf("beside others the answer is %q, %v, %v", s.text, s.calls, s.err)
			}
		})
	}
	all.Wait()
}
