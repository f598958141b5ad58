package eventlog

import (
	"context"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// Page is a part of a log. Next is the cursor of the following page, "" when
// the log has no more now.
type Page struct {
	Events []*eventv1.Event
	Next   string
}

// Page reads up to limit events after a cursor.
func (l *Log) Page(ctx context.Context, session, after string, limit int, f Filter) (Page, error) {
	r, err := l.reader(ctx, Subscription{Session: session, After: after, Filter: f})
	if err != nil {
		return Page{}, err
	}
	events, err := l.source.Events(ctx, store.EventQuery{
		Session: session, Tree: f.Tree, After: r.cursor, Limit: limit + 1, Types: f.Types, MaxDepth: f.MaxDepth,
	})
	if err != nil {
		return Page{}, err
	}
	state, err := l.source.Session(ctx, session)
	if err == nil {
		err = r.whole(state, r.cursor)
	}
	if err != nil || len(events) <= limit {
		return Page{Events: events}, err
	}
	events = events[:limit]
	return Page{Events: events, Next: r.cursorOf(f.orderOf(events[limit-1]))}, nil
}
