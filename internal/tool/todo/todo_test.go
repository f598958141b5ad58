package todo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/todo"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: todo.New, Open: local.Open,
		Args: map[string]any{"items": []any{map[string]any{"text": "look", "status": "done"}, map[string]any{"text": "write", "status": "in_progress"}}},
	})
}

func run(t *testing.T, args string) tool.Result {
	t.Helper()
	r, err := todo.New().Run(t.Context(), tool.Env{}, tool.Call{ID: "c", Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestShows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, text, summary string }{
		{
			`{"items":[{"text":"look","status":"done"},{"text":"write\n  it","status":"in_progress"},{"text":"test","status":"pending"}]}`,
			"[x] look\n[>] write it\n[ ] test\n1 of 3 done, 1 in progress, 1 pending.\n", "1 of 3 done",
		},
		{
			`{"items":[{"text":"look","status":"done"},{"text":"write","status":"pending"}]}`,
			"[x] look\n[ ] write\n1 of 2 done, 0 in progress, 1 pending.\nNothing is in progress; the next step is: write\n", "1 of 2 done",
		},
		{`{"items":[{"text":"look","status":"done"}]}`, "[x] look\n1 of 1 done, 0 in progress, 0 pending.\n", "1 of 1 done"},
		{`{"items":[]}`, "The list is empty.", "empty"},
	} {
		if r := run(t, c.args); r.IsError || r.Text != c.text || r.Summary != c.summary {
			t.Errorf("todo %s gives %+v, want %q and %q", c.args, r, c.text, c.summary)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{"text":"a","status":"pending"},`, 100) + `{"text":"a","status":"pending"}`
	for args, want := range map[string]string{
		`{"items":[{"text":"a","status":"done"},{"text":"b","status":"in_progres"}]}`:                      "`items[1].status` must be pending, in_progress or done, not \"in_progres\"",
		`{"items":[{"text":" ","status":"done"}]}`:                                                         "`items[0].text` must not be empty",
		`{"items":[{"text":"` + strings.Repeat("a", 501) + `","status":"done"}]}`:                          "501 bytes, more than 500",
		`{"items":[{"text":"a","status":"in_progress"},{"text":"b"},{"text":"c","status":"in_progress"}]}`: "`items[1].status` is missing",
		`{"items":[{"text":"a","status":"in_progress"},{"text":"b","status":"in_progress"}]}`:              "at most one item may be in_progress, but items[0] and items[1] are",
		`{"items":["a"]}`:          "`items[0]` must be an object, not text",
		`{"items":[` + many + `]}`: "101 elements, more than 100",
	} {
		if r := run(t, args); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("todo %.100s = %+v, want %q", args, r, want)
		}
	}
}
