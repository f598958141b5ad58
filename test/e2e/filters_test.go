package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// passing lets all types through, each alone, each family, and some together.
var passing = [][]string{
	nil,
	{"input.queued"}, {"session.status.changed"}, {"turn.queued"}, {"turn.started"}, {"turn.completed"},
	{"agent.model.request"}, {"agent.model.usage"}, {"agent.message.delta"}, {"agent.message.completed"}, {"agent.reasoning.delta"},
	{"agent.tool.requested"}, {"agent.tool.started"}, {"agent.tool.completed"},
	{"input.*"}, {"session.*"}, {"turn.*"}, {"agent.*"}, {"agent.tool.*"}, {"agent.message.*"}, {"agent.model.*"}, {"artifact.*"},
	{"turn.*", "agent.tool.completed"}, {"agent.message.delta", "agent.*"}, {"turn.completed", "input.*", "session.status.changed"},
}

// scopes are the other parts of a filter.
var scopes = map[string]*sessionv1.EventFilter{
	"all frames":       {},
	"durable ones":     {DurableOnly: true},
	"tree":             {Tree: true},
	"tree to depth 0":  {Tree: true, MaxDepth: proto.Int32(0)},
	"durable, depth 3": {DurableOnly: true, Tree: true, MaxDepth: proto.Int32(3)},
}

// filtered is a filter with the stream that was live under it.
type filtered struct {
	name   string
	filter *sessionv1.EventFilter
	wire   string
	live   source
}

// quality.md, Reliability 2, for one session: replay equals live, byte for byte,
// under every filter. Every stream is open before the first event.
func TestReplayIsLiveUnderEveryFilter(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "filtered", script(t, chatter), "list")
	session := silent(t, s.Sessions(), "filtered")
	ctx, cancel := context.WithTimeout(t.Context(), streamTime)
	defer cancel()
	e := endpoint{s.HTTP(), s.URL}
	var all []filtered
	for scope, base := range scopes {
		for _, names := range passing {
			f := filtered{name: fmt.Sprint(scope, " ", names), filter: proto.CloneOf(base), wire: wires[len(all)%len(wires)]}
			f.filter.Types = names
			var err error
			if f.live, err = e.follow(ctx, f.wire, session, "", f.filter); err != nil {
				t.Fatal(err)
			}
			defer f.live.close()
			all = append(all, f)
		}
	}
	tell(t, s.Sessions(), session, "one")
	tell(t, s.Sessions(), session, "two")
	log := durable(open(t, s, session, "", "").until(t, "turn.completed", 2))
	met := map[string]bool{}
	for _, f := range log {
		met[f.event] = true
	}
	for _, f := range all {
		if names := f.filter.GetTypes(); len(names) == 1 && !strings.HasSuffix(names[0], "*") && !met[names[0]] {
			t.Errorf("the turns have no %s: there was too little traffic", names[0])
		}
		f.check(ctx, t, e, session, log)
	}
}

// check compares what was live, what each wire replays, and what the log has.
func (f filtered) check(ctx context.Context, t *testing.T, e endpoint, session string, log []frame) {
	t.Helper()
	var want []frame
	for _, l := range log {
		if f.passes(l.event) {
			want = append(want, l)
		}
	}
	live, err := take(f.live, len(want))
	if err != nil {
		t.Errorf("%s, live on %s: %v", f.name, f.wire, err)
		return
	}
	for i := range live { // the id's second half is the filter's
		if l := live[i]; l.order() != want[i].order() || l.event != want[i].event || l.data != want[i].data {
			t.Errorf("%s: frame %d is\n%v\nthe log has\n%v", f.name, i, l, want[i])
			return
		}
	}
	for _, wire := range wires {
		again, err := e.follow(ctx, wire, session, "", f.filter)
		if err != nil {
			t.Errorf("%s on %s: %v", f.name, wire, err)
			continue
		}
		replay, err := take(again, len(want))
		again.close()
		if diff := differ(replay, live); diff != "" || err != nil {
			t.Errorf("%s: live on %s and replay on %s differ (%v): %s", f.name, f.wire, wire, err, diff)
		}
	}
}

func (f filtered) passes(event string) bool {
	return len(f.filter.GetTypes()) == 0 || slices.ContainsFunc(f.filter.GetTypes(), func(want string) bool {
		family, isFamily := strings.CutSuffix(want, "*")
		return event == want || isFamily && strings.HasPrefix(event, family)
	})
}
