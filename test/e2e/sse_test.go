package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
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
	session := talk(t, s, "replayed")
	live := open(t, s, session, "", "").until(t, "turn.completed", 1)
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

// reconnects is how often the reader below is cut off.
const reconnects = 50

// quality.md, Reliability 1, in small
func TestReconnectsSeeEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "reconnected")
	const turns = 3
	for range turns - 1 {
		if _, err := s.Sessions().SendMessage(t.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "more"})); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var seen []frame
	last := ""
	for range reconnects {
		st := open(t, s, session, "", last)
		for n := 1 + random.IntN(2); n > 0; {
			f, ok := st.next()
			if !ok {
				t.Fatalf("the stream ended after %d frames", len(seen))
			}
			if f.id != "" {
				seen, last = append(seen, f), f.id
				n--
			}
		}
		st.close()
		if ends(seen) == turns {
			t.Fatalf("the log has too few events to be cut off %d times", reconnects)
		}
	}
	seen = append(seen, durable(open(t, s, session, "", last).until(t, "turn.completed", turns-ends(seen)))...)
	want := durable(open(t, s, session, "", "").until(t, "turn.completed", turns))
	if !slices.Equal(seen, want) {
		t.Errorf("over reconnects %d frames came, of a log of %d:\n%v\n%v", len(seen), len(want), eventNames(seen), eventNames(want))
	}
}

// ends counts the turns that have ended.
func ends(frames []frame) int {
	n := 0
	for _, f := range frames {
		if f.event == "turn.completed" {
			n++
		}
	}
	return n
}

func TestConnectStreamsWhatServerSentEventsDo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "both")
	sse := durable(open(t, s, session, "", "").until(t, "turn.completed", 1))
	for name, opts := range map[string][]connect.ClientOption{"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()}} {
		stream, err := s.Sessions(opts...).SubscribeEvents(t.Context(), connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: session}))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(sse) && stream.Receive(); {
			f := stream.Msg()
			if f.GetEvent() == nil {
				continue
			}
			if f.GetId() != sse[i].id || f.GetEvent().GetType() != sse[i].event || f.GetEvent().GetSeq() != int64(i+1) {
				t.Errorf("%s: frame %d is %s %s, and %s %s as a server-sent event", name, i, f.GetId(), f.GetEvent().GetType(), sse[i].id, sse[i].event)
			}
			if i++; i == len(sse) && f.GetEvent().GetType() != "turn.completed" {
				t.Errorf("%s: the last frame is %s", name, f.GetEvent().GetType())
			}
		}
		_ = stream.Close()
	}

	// A list is the same log once more.
	list, err := s.Sessions().ListEvents(t.Context(), connect.NewRequest(&sessionv1.ListEventsRequest{SessionId: session, Limit: 1000}))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range sse {
		if e := list.Msg.GetEvents()[i]; e.GetSeq() != int64(i+1) || e.GetType() != f.event {
			t.Errorf("event %d of the list is %d %s", i, e.GetSeq(), e.GetType())
		}
	}
}

func TestATranscriptFoldsWhatHappened(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "folded")
	events := s.AwaitType(t, session, "turn.completed", 1)
	if _, err := s.Sessions().SendMessage(t.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "again"})); err != nil {
		t.Fatal(err)
	}
	s.Await(t, session, func(e *eventv1.Event) bool { return e.GetSeq() > int64(len(events)) && e.GetType() == "turn.completed" })
	s.AwaitType(t, session, "session.status.changed", 4)
	res, err := s.Sessions().GetTranscript(t.Context(), connect.NewRequest(&sessionv1.GetTranscriptRequest{SessionId: session}))
	if err != nil {
		t.Fatal(err)
	}
	turns := res.Msg.GetTurns()
	if len(turns) != 2 {
		t.Fatalf("there are %d turns", len(turns))
	}
	for i, turn := range turns {
		var shape []string
		for _, e := range turn.GetEntries() {
			switch e := e.GetEntry().(type) {
			case *sessionv1.TranscriptEntry_User:
				shape = append(shape, "user "+e.User)
			case *sessionv1.TranscriptEntry_Assistant:
				shape = append(shape, "assistant "+e.Assistant[:7])
			case *sessionv1.TranscriptEntry_Tool:
				shape = append(shape, e.Tool.GetName()+" "+e.Tool.GetState())
			case *sessionv1.TranscriptEntry_Reasoning:
				shape = append(shape, "reasoning "+e.Reasoning)
			}
		}
		want := []string{
			[]string{"user go", "user again"}[i], "assistant One ste", "list completed", "reasoning Thinking about it.", "assistant Another",
			"list completed", "list failed", "assistant And the",
		}
		if !slices.Equal(shape, want) {
			t.Errorf("turn %d is %q, want %q", i, shape, want)
		}
		if turn.GetUsage().GetInputTokens() == 0 || turn.GetEndedAt() == nil || turn.GetStartedAt() == nil {
			t.Errorf("turn %d ended as %v", i, turn)
		}
	}
	if last := events[len(events)-1].GetSeq(); res.Msg.GetLastSeq() <= last {
		t.Errorf("the transcript reaches to %d", res.Msg.GetLastSeq())
	}
}
