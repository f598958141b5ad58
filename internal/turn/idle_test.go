package turn_test

import (
	"context"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn"
)

// A model that is silent, or whose stream goes on without content, is not waited for longer than
// is set: the turn waits and asks again.
func TestAModelWithoutContentIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opt.ContentIdle = 20 * time.Millisecond
	silent := true
	w.play = func(ctx context.Context, req model.Request) parts {
		if silent {
			return func(yield func(model.Part, error) bool) {
				req.Sent()
				if yield(text("half"), nil) {
					<-ctx.Done()
					yield(model.Part{}, context.Cause(ctx))
				}
			}
		}
		return said(text("whole"), end(1, 1))
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := w.waits("provider").GetError(); e.GetCode() != "response_stream_idle_timeout" || e.GetDetail() != "no content for 20ms" {
		t.Errorf("it waits with %v", e)
	}
	silent = false
	w.goOn(t.Context())
	if w.count("turn.completed") != 1 {
		t.Errorf("the log is %v", w.types())
	}
}

func TestTheIdleTimesOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, " 90s ": 90 * time.Second, "24h": 24 * time.Hour} {
		got, err := turn.Idle(func(name string) string {
			if name != "CADRE_STREAM_IDLE" {
				t.Errorf("the variable %s is read", name)
			}
			return text
		}, turn.EnvStreamIdle)
		if err != nil || got != want {
			t.Errorf("%q gives %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "-1s", "5", "25h", "off"} {
		if got, err := turn.Idle(func(string) string { return text }, turn.EnvContentIdle); fault.ReasonOf(err) != "BAD_IDLE_TIME" {
			t.Errorf("%q gives %s, %v", text, got, err)
		}
	}
}
