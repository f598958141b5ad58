package cli

import (
	"strings"
	"testing"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// An event is written as its type and its turn; one that ends what is watched
// has a star behind it.
func TestATrackerKnowsWhenTheWorkHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w   watch
		log string
	}{
		"one turn":                      {watch{execution: "a"}, "turn.queued/a turn.started/a turn.completed/a*"},
		"one turn among others":         {watch{execution: "b"}, "turn.queued/a turn.queued/b turn.completed/a turn.started/b turn.failed/b*"},
		"one turn that waits":           {watch{execution: "a"}, "turn.queued/a turn.started/a turn.waiting/a*"},
		"all of one turn":               {watch{}, "session.created/ turn.queued/a session.status.changed/ turn.started/a turn.completed/a*"},
		"all of two":                    {watch{}, "turn.queued/a turn.queued/b turn.completed/a turn.started/b turn.cancelled/b*"},
		"the newest ends first":         {watch{}, "turn.queued/a turn.started/a turn.queued/b turn.cancelled/b turn.cancel.requested/a turn.cancelled/a*"},
		"history ends nothing":          {watch{head: 6}, "turn.queued/a turn.started/a turn.completed/a turn.queued/b turn.started/b turn.completed/b*"},
		"the end is behind us":          {watch{head: 4}, "turn.queued/a turn.started/a turn.completed/a session.status.changed/*"},
		"a wait that was long ago":      {watch{head: 5}, "turn.queued/a turn.waiting/a turn.completed/a turn.queued/b turn.started/b turn.completed/b*"},
		"a wait that goes on":           {watch{head: 3}, "turn.queued/a turn.waiting/a session.status.changed/*"},
		"a wait keeps the next back":    {watch{}, "turn.queued/a turn.queued/b turn.waiting/a*"},
		"taken up again after the wait": {watch{head: 4}, "turn.queued/a turn.waiting/a turn.reopened/a turn.started/a turn.completed/a*"},
	} {
		tr := newTracker(c.w)
		words := strings.Fields(c.log)
		for i, word := range words {
			typ, turn, _ := strings.Cut(strings.TrimSuffix(word, "*"), "/")
			got := tr.see(&eventv1.Event{Seq: int64(i + 1), Type: typ, ExecutionId: turn, Association: eventv1.Association_current})
			if want := strings.HasSuffix(word, "*"); (got != nil) != want {
				t.Errorf("%s: %s, event %d, ends it: %t, want %t", name, word, i+1, got != nil, want)
			}
		}
	}
	late := &eventv1.Event{Seq: 1, Type: "turn.completed", ExecutionId: "a", Association: eventv1.Association_late_rejected}
	if newTracker(watch{execution: "a"}).see(late) != nil {
		t.Error("the word of an attempt that was gone ends the watch")
	}
}
