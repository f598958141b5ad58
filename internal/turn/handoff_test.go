package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/turn/handoff"
)

// counting is a tool that counts how often it ran.
type counting struct{ runs *int }

func (counting) Spec() tool.Spec {
	return tool.Spec{Name: "count", Description: "Counts.", Class: tool.Idempotent, Schema: []byte(`{"type":"object"}`)}
}

func (c counting) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	*c.runs++
	return tool.Result{Text: "counted", Summary: "counted"}, nil
}

// counted counts the items of the hand-off in the history of each request.
func counted(w *world, play func(context.Context, model.Request) parts, seen *[]int) func(context.Context, model.Request) parts {
	return func(ctx context.Context, req model.Request) parts {
		n := 0
		for _, item := range req.History {
			if item.GetDeveloper().GetText() == handoff.Text(w.execution) {
				n++
			}
		}
		*seen = append(*seen, n)
		return play(ctx, req)
	}
}

// handsOff plays a tool call, a blank answer, and then what is given.
func handsOff(t *testing.T, last ...model.Part) (w *world, runs *int, seen *[]int) {
	t.Helper()
	w, runs, seen = newWorld(t), new(int), &[]int{}
	w.tools["count"] = counting{runs}
	w.play = counted(w, replies(
		[]model.Part{call("c1", "count", `{}`), end(1, 1)},
		[]model.Part{text("\n"), end(1, 1)},
		append(last, end(1, 1)),
	), seen)
	return w, runs, seen
}

// TestAReplyIsHandedOver: the item is durable, once, before the model is asked again by the
// same attempt, and nothing that ran runs again. T54, T56
func TestAReplyIsHandedOver(t *testing.T) {
	t.Parallel()
	w, runs, seen := handsOff(t, text("It is counted."))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 0, 1}; !slices.Equal(*seen, want) {
		t.Errorf("the requests held the item %v times, want %v", *seen, want)
	}
	added := slices.Index(w.steps, "added true")
	if sent := slices.Index(w.steps, "bytes 3"); added < 0 || added > sent || slices.Index(w.steps[added+1:], "added true") >= 0 {
		t.Errorf("the item was not added once before the bytes left: %v", w.steps)
	}
	if *runs != 1 || w.count("turn.started") != 1 || w.count("turn.recovery.requested") != 0 || w.count("turn.completed") != 1 {
		t.Errorf("the tool ran %d times, and the log is %v", *runs, w.types())
	}
	if done := w.last("turn.completed").GetTurnCompleted(); done.GetSegmentLimit() != "" || done.GetModelCalls() != 3 {
		t.Errorf("the turn ended as %v", done)
	}
}

// TestAReplyIsHandedOverOnce: a second blank answer is told as a limit. T55
func TestAReplyIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	w, runs, seen := handsOff(t, text(" "))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done := w.last("turn.completed").GetTurnCompleted(); done.GetSegmentLimit() != "empty_final_reply" || done.GetModelCalls() != 3 || *runs != 1 || len(*seen) != 3 {
		t.Errorf("after %d requests and %d runs the turn ended as %v", len(*seen), *runs, done)
	}
}

// TestAHandOffSurvivesItsAttempt: an attempt that was lost right behind the item is followed
// by one that asks the model with it, adds no other, and repeats no tool. T55, T56
func TestAHandOffSurvivesItsAttempt(t *testing.T) {
	t.Parallel()
	for name, blank := range map[string]bool{"answered": false, "blank again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := "It is counted."
			if blank {
				reply = "\t"
			}
			w, runs, seen := handsOff(t, text(reply))
			w.accept("go on")
			first := w.claim("")
			lost := errors.New("the server died")
			w.added = func() error { return fault.New(fault.Unavailable, "STORE_CLOSED", "gone").Because(lost) }
			if err := turn.Run(t.Context(), w, first, w.opt); !errors.Is(err, lost) {
				t.Fatalf("the first attempt ended with %v", err)
			}
			w.added = nil
			if err := turn.Run(t.Context(), w, w.claim(first.Fence.Attempt), w.opt); err != nil {
				t.Fatal(err)
			}
			if want := []int{0, 0, 1}; !slices.Equal(*seen, want) || *runs != 1 {
				t.Errorf("the requests held the item %v times and the tool ran %d times", *seen, *runs)
			}
			limit := w.last("turn.completed").GetTurnCompleted().GetSegmentLimit()
			if blank != (limit == "empty_final_reply") {
				t.Errorf("the limit is %q", limit)
			}
		})
	}
}

// TestTheNextTurnIsOwedItsOwnReply: the item of one execution does not count for another. T53
func TestTheNextTurnIsOwedItsOwnReply(t *testing.T) {
	t.Parallel()
	w, runs, _ := handsOff(t, text("It is counted."))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign := handoff.Item(w.execution)
	var seen []int
	w.play = counted(w, func(ctx context.Context, req model.Request) parts {
		for _, item := range req.History {
			if a := item.GetAssistant(); a != nil && strings.Contains(a.String(), "counted again") {
				return replies([]model.Part{text("never"), end(1, 1)})(ctx, req)
			}
		}
		return replies(
			[]model.Part{call("c1", "count", `{}`), end(1, 1)}, []model.Part{end(1, 1)}, []model.Part{text("counted again"), end(1, 1)},
		)(ctx, req)
	}, &seen)
	w.accept("again")
	c := w.claim("")
	c.History = append([]*messagev1.Item{foreign}, c.History...)
	if err := turn.Run(t.Context(), w, c, w.opt); err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 0, 1}; !slices.Equal(seen, want) || *runs != 2 {
		t.Errorf("the requests held the item %v times and the tool ran %d times", seen, *runs)
	}
}

func (l *ledger) AddItem(ctx context.Context, f store.Fence, item *messagev1.Item, handOff bool) error {
	err := l.Store.AddItem(ctx, f, item, handOff)
	l.w.note("added %t", handOff)
	if err == nil && l.w.added != nil {
		return l.w.added()
	}
	return err
}
