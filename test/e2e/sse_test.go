package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// chatter talks and works for about a second, in many small pieces.
const chatter = `
turns:
  - steps:
      - text: "One step, told in many pieces, so that there is something to show before it is durable."
        chunk: 3
        chunk_delay: 8ms
        tools: [{name: list, args: {path: "."}}]
      - text: "Another step, which is told in many pieces as well."
        reasoning: "Thinking about it."
        chunk: 2
        chunk_delay: 8ms
        tools: [{name: list, args: {path: "."}}, {name: list, args: {path: ".."}}]
      - text: "And the end of it all."
        chunk: 1
        chunk_delay: 8ms
repeat: true
`

// talk begins a session that chatters and is not waited for.
func talk(t *testing.T, s *built.Server, slug string) (session string) {
	t.Helper()
	agent(t, s, slug, script(t, chatter), "list")
	session, _ = run(t.Context(), t, s, &sessionv1.RunAgentRequest{Agent: slug, Message: "go", Workspace: local(t.TempDir())})
	return session
}

func local(dir string) *sessionv1.Workspace {
	return &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: dir}}}
}

func TestReplayIsLiveByteForByte(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "replayed", script(t, chatter), "list")
	session := silent(t, s.Sessions(), "replayed")
	stream := open(t, s, session, "", "")
	tell(t, s.Sessions(), session, "go") // only now, so that the reader sees all of it live
	live := stream.until(t, "turn.completed", 1)
	replay := open(t, s, session, "", "").until(t, "turn.completed", 1)
	if a, b := durable(live), durable(replay); !slices.Equal(a, b) {
		t.Errorf("live and replay differ:\n%v\n%v", a, b)
	}
	shown := 0
	for i, f := range live {
		switch {
		case f.id == "" && f.event != "ephemeral":
			t.Errorf("frame %d, %s, has no id", i, f.event)
		case f.id == "":
			shown++
		case !strings.HasPrefix(f.id, fmt.Sprint(len(durable(live[:i+1])), ".")):
			t.Errorf("frame %d has the id %s and is durable event %d", i, f.id, len(durable(live[:i+1])))
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(f.data)); err != nil || compact.String() != f.data {
			t.Errorf("frame %d is not compact JSON (%v): %s", i, err, f.data)
		}
	}
	if shown == 0 {
		t.Error("nothing was shown before it was durable")
	}
	if len(durable(replay)) != len(replay) {
		t.Error("a replay shows what is not durable")
	}
	deltas(t, live)
}

// deltas checks that the durable deltas of each answer are contiguous and make
// up the whole.
func deltas(t *testing.T, frames []frame) {
	t.Helper()
	type delta struct {
		Call   int
		Offset string
		Text   string
	}
	texts := map[int]string{}
	for _, f := range frames {
		var e struct {
			AgentMessageDelta, AgentMessageCompleted *delta
		}
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			t.Fatal(err)
		}
		if d := e.AgentMessageDelta; d != nil {
			if at, _ := strconv.Atoi(d.Offset); at != len(texts[d.Call]) {
				t.Errorf("a delta of answer %d begins at %s, and %d bytes came before", d.Call, d.Offset, len(texts[d.Call]))
			}
			texts[d.Call] += d.Text
		}
		if d := e.AgentMessageCompleted; d != nil && texts[d.Call] != d.Text {
			t.Errorf("the deltas of answer %d are %q, the whole is %q", d.Call, texts[d.Call], d.Text)
		}
	}
}

func TestAStreamGoesOnAfterItsCursor(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "resumed")
	all := durable(open(t, s, session, "", "").until(t, "turn.completed", 1))
	s.AwaitType(t, session, "session.status.changed", 2)
	for _, at := range []int{0, 3, len(all) - 2} {
		want := all[at+1:]
		for name, st := range map[string]*stream{
			"Last-Event-ID":            open(t, s, session, "", all[at].id),
			"after an id":              open(t, s, session, "after="+all[at].id, ""),
			"after a number":           open(t, s, session, fmt.Sprint("after=", at+1), ""),
			"Last-Event-ID over after": open(t, s, session, "after=1", all[at].id),
		} {
			if got := durable(st.until(t, "turn.completed", 1)); !slices.Equal(got, want) {
				t.Errorf("%s, after %d: got %d frames, want %d", name, at, len(got), len(want))
			}
		}
	}

	// Filters belong to the cursor.
	only := open(t, s, session, types("turn.*", "agent.tool.completed"), "").until(t, "turn.completed", 1)
	if names := eventNames(only); !slices.Equal(names, []string{"turn.queued", "turn.started", "agent.tool.completed", "agent.tool.completed", "turn.completed"}) {
		t.Errorf("the filter lets %v through", names)
	}
	rest := open(t, s, session, types("agent.tool.completed", "turn.*"), only[1].id).until(t, "turn.completed", 1)
	if !slices.Equal(rest, only[2:]) {
		t.Errorf("the filtered stream goes on with %v", rest)
	}
	quiet := open(t, s, session, "durable_only=true", "").until(t, "turn.completed", 1)
	if len(quiet) != len(all) {
		t.Errorf("there are %d durable frames, want %d", len(quiet), len(all))
	}
	for name, c := range map[string]struct {
		query, last string
		status      int
		reason      string
	}{
		"cursor of no filter":      {types("turn.*"), all[2].id, 400, "CURSOR_OF_OTHER_FILTER"},
		"cursor of another filter": {"", only[1].id, 400, "CURSOR_OF_OTHER_FILTER"},
		"cursor ahead":             {"after=100000", "", 400, "CURSOR_AHEAD"},
		"id ahead":                 {"", strings.Replace(all[0].id, "1.", "100000.", 1), 400, "CURSOR_AHEAD"},
		"no cursor":                {"after=soon", "", 400, "BAD_CURSOR"},
		"unknown parameter":        {"type=turn.completed", "", 400, "UNKNOWN_FIELD"},
		"unknown type":             {"types=turn.complete", "", 400, "UNKNOWN_EVENT_TYPE"},
		"no truth value":           {"durable_only=maybe", "", 400, "BAD_PARAMETER"},
	} {
		if status, reason := refused(t, s, session, c.query, c.last); status != c.status || reason != c.reason {
			t.Errorf("%s gave %d %s, want %d %s", name, status, reason, c.status, c.reason)
		}
	}
	if status, reason := refused(t, s, "ses_01m8pfsssqeym0yzxf7fjneznp", "", ""); status != 404 || reason != "NOT_FOUND" {
		t.Errorf("an unknown session gave %d %s", status, reason)
	}
}

func eventNames(all []frame) []string {
	var names []string
	for _, f := range all {
		names = append(names, f.event)
	}
	return names
}
