package session

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
)

// loadSession reads the session that a message names in session_id.
func loadSession(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "load", Do: func(ctx context.Context, r *pipeline.Request) error {
		m := r.Message.ProtoReflect()
		session := m.Get(m.Descriptor().Fields().ByName(protoreflect.Name("session_id"))).String()
		if id.Prefix(session) != resource.Meta(sessionKind).GetPrefix() {
			return fault.New(fault.InvalidArgument, "BAD_REFERENCE", "%q is no session's id: one begins with %s_, and `cadre sessions` lists them",
				session, resource.Meta(sessionKind).GetPrefix())
		}
		var err error
		if r.Row, err = d.Store.Get(ctx, sessionKind, session); err != nil {
			return err
		}
		r.Org = r.Row.Org
		r.Existing = newSession()
		return proto.Unmarshal(r.Row.Data, r.Existing)
	}}
}

func transcript(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "fold events", Do: func(ctx context.Context, r *pipeline.Request) error {
		t, err := d.Log.Transcript(ctx, r.Row.ID)
		r.Answer = t
		return err
	}}
}

// filterOf reads a filter of the contract. A type that no event has, or a family
// without members, is a slip of the pen: it would let nothing through for ever.
func filterOf(f *sessionv1.EventFilter) (eventlog.Filter, error) {
	out := eventlog.Filter{Types: f.GetTypes(), DurableOnly: f.GetDurableOnly(), Tree: f.GetTree(), MaxDepth: -1}
	if f != nil && f.MaxDepth != nil {
		out.MaxDepth = f.GetMaxDepth()
	}
	for i, want := range out.Types {
		if !knownType(want) {
			bad := fault.New(fault.InvalidArgument, "UNKNOWN_EVENT_TYPE", "no event has the type %q; write a name such as turn.completed, or a family such as agent.tool.*.%s",
				want, near.Hint(want, event.Types()))
			bad.Violations = []fault.Violation{{Field: "filter.types[" + strconv.Itoa(i) + "]", Rule: "event.type.known", Text: "must be the type of an event, or a family of types"}}
			return out, bad
		}
	}
	return out, nil
}

func knownType(want string) bool {
	family, isFamily := strings.CutSuffix(want, "*")
	return slices.ContainsFunc(event.Types(), func(name string) bool {
		return name == want || isFamily && strings.HasSuffix(family, ".") && strings.HasPrefix(name, family)
	})
}

// defaultEvents is how many events a page has when the caller does not say.
const defaultEvents = 100

func listEvents(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "read page", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := r.Message.(*sessionv1.ListEventsRequest)
		limit := int(in.GetLimit())
		if limit == 0 {
			limit = defaultEvents
		}
		filter, err := filterOf(in.GetFilter())
		if err != nil {
			return err
		}
		page, err := d.Log.Page(ctx, r.Row.ID, in.GetAfter(), limit, filter)
		r.Answer = &sessionv1.ListEventsResponse{Events: page.Events, Next: page.Next}
		return err
	}}
}

// checkCursor answers a bad cursor before the stream begins.
func checkCursor() pipeline.Step {
	return pipeline.Step{Name: "check cursor", Do: func(_ context.Context, r *pipeline.Request) error {
		in := r.Message.(*sessionv1.SubscribeEventsRequest)
		filter, err := filterOf(in.GetFilter())
		if err != nil {
			return err
		}
		_, err = filter.Parse(in.GetAfter())
		return err
	}}
}

// stream sends frames until the caller leaves. The right to see them is checked
// again while it is open.
func stream(d pipeline.Deps) func(context.Context, *pipeline.Request, func(proto.Message) error) error {
	return func(ctx context.Context, r *pipeline.Request, send func(proto.Message) error) error {
		in := r.Message.(*sessionv1.SubscribeEventsRequest)
		filter, err := filterOf(in.GetFilter())
		if err != nil {
			return err
		}
		frames, err := d.Log.Subscribe(ctx, eventlog.Subscription{
			Session: r.Row.ID, After: in.GetAfter(), Filter: filter,
			Recheck: func(ctx context.Context) error {
				return authz.Require(ctx, d.Authz, authz.Question{Caller: r.Caller, Permission: "view", Kind: sessionKind, Org: r.Row.Org, ID: r.Row.ID})
			},
		})
		if err != nil {
			return err
		}
		// The first heartbeat tells the caller at once that the stream is open.
		if err := send(FrameOf(eventlog.Frame{Heartbeat: true})); err != nil {
			return fault.New(fault.Canceled, "CALLER_GONE", "the caller left").Because(err)
		}
		for f, err := range frames {
			if err != nil {
				return err
			}
			if err := send(FrameOf(f)); err != nil {
				return fault.New(fault.Canceled, "CALLER_GONE", "the caller left").Because(err)
			}
		}
		return nil
	}
}

// FrameOf is a frame in the form of the contract.
func FrameOf(f eventlog.Frame) *sessionv1.Frame {
	switch {
	case f.Event != nil:
		return &sessionv1.Frame{Id: f.ID, Frame: &sessionv1.Frame_Event{Event: f.Event}}
	case f.Ephemeral != nil:
		return &sessionv1.Frame{Frame: &sessionv1.Frame_Ephemeral{Ephemeral: f.Ephemeral}}
	}
	return &sessionv1.Frame{Frame: &sessionv1.Frame_Heartbeat{Heartbeat: &sessionv1.Heartbeat{}}}
}
