package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"buf.build/go/protoyaml"
	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

func (c *app) eventsCommand() *cobra.Command {
	var follow, asJSON, tree bool
	var after string
	var types []string
	cmd := &cobra.Command{
		Use: "events SESSION", Short: "Show a session's event log", Args: exactArgs(1, "a session's id"),
		Example: `  cadre events ses_01… -f
  cadre events ses_01… --types 'turn.*,agent.tool.completed' --json
  cadre events ses_01… --after 120`,
		ValidArgsFunction: c.completeOne("session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect()
			if err != nil {
				return err
			}
			filter := &sessionv1.EventFilter{DurableOnly: true, Tree: tree}
			for _, t := range types {
				filter.Types = append(filter.Types, strings.FieldsFunc(t, func(r rune) bool { return r == ',' || r == ' ' })...)
			}
			if after == "" {
				c.noteRemoved(cmd.Context(), cl, args[0])
			}
			show := c.eventPrinter(asJSON)
			if follow {
				return c.followEvents(cmd.Context(), cl, args[0], after, filter, show)
			}
			return listEvents(cmd.Context(), cl, args[0], after, filter, show)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as events come, until Ctrl-C")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one event per line as JSON; the same as -o json")
	cmd.Flags().BoolVar(&tree, "tree", false, "show the session's children too")
	cmd.Flags().StringVar(&after, "after", "", "show events after this number or stream id")
	cmd.Flags().StringArrayVar(&types, "types", nil, "only these types or families, such as turn.completed or agent.tool.*; may be repeated")
	c.outputFlag(cmd)
	return cmd
}

// noteRemoved says that a log is not whole any more.
func (c *app) noteRemoved(ctx context.Context, cl *client, session string) {
	s, err := cl.session(ctx, session)
	if n := s.GetStatus().GetRemovedSeq(); err == nil && n > 0 {
		c.note("retention removed events up to %d from this log; what the transcript needs is here", n)
	}
}

// eventPrinter shows one event in the chosen form.
func (c *app) eventPrinter(asJSON bool) func(*eventv1.Event) {
	switch {
	case asJSON || c.output == "json":
		return func(e *eventv1.Event) { c.printf("%s\n", compactJSON(e)) }
	case c.output == "yaml":
		return func(e *eventv1.Event) {
			if data, err := protoyaml.Marshal(e); err == nil {
				c.printf("---\n%s", data)
			}
		}
	case c.output == "name":
		return func(e *eventv1.Event) { c.printf("%d %s\n", e.GetSeq(), e.GetType()) }
	}
	return c.eventLine
}

func listEvents(ctx context.Context, cl *client, session, after string, filter *sessionv1.EventFilter, show func(*eventv1.Event)) error {
	for {
		res, err := cl.sessions.ListEvents(ctx, connect.NewRequest(&sessionv1.ListEventsRequest{SessionId: session, After: after, Limit: 500, Filter: filter}))
		if err != nil {
			return err
		}
		for _, e := range res.Msg.GetEvents() {
			show(e)
		}
		if after = res.Msg.GetNext(); after == "" {
			return nil
		}
	}
}

// followEvents goes on over a restart of the server. What keeps it from
// beginning is told at once.
func (c *app) followEvents(ctx context.Context, cl *client, session, after string, filter *sessionv1.EventFilter, show func(*eventv1.Event)) error {
	if _, err := cl.session(ctx, session); err != nil {
		return err
	}
	ctx, stop := interrupts(ctx, func() bool { return false })
	defer stop()
	for {
		stream, err := cl.sessions.SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: session, After: after, Filter: filter}))
		if err == nil {
			for stream.Receive() {
				if e := stream.Msg().GetEvent(); e != nil {
					after = stream.Msg().GetId()
					show(e)
				}
			}
			err = stream.Err()
			_ = stream.Close()
		}
		if ctx.Err() != nil {
			return nil
		}
		if !worthRetry(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
		if again, err := c.connect(); err == nil {
			cl = again
		}
	}
}

// eventLine shows one event in one line: number, time, type, the payload.
func (c *app) eventLine(e *eventv1.Event) {
	mark := ""
	if e.GetAssociation() != eventv1.Association_current {
		mark = " [" + e.GetAssociation().String() + "]"
	}
	c.printf("%5d  %s  %-28s %s%s\n", e.GetSeq(), e.GetOccurredAt().AsTime().Local().Format("15:04:05.000"), e.GetType(), payloadLine(e), mark)
}

func payloadLine(e *eventv1.Event) string {
	m := proto.Clone(e).ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("payload"))
	if fd == nil {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(compactJSON(m.Get(fd).Message().Interface())), &fields) != nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+"="+oneLine(bare(fields[name]), 60))
	}
	return oneLine(strings.Join(parts, " "), 160)
}

// bare is a JSON value for people: text without its quotes.
func bare(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
