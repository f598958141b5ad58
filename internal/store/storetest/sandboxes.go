package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// boxLimit is how long a warming or a draining may take.
const boxLimit = time.Minute

func boxKey(id string) store.SandboxKey { return store.SandboxKey{Scope: "session", ID: id} }

// hold is a wish of a process, for a holder that stays until a time; the zero time for an attempt.
func hold(id, boot, holder string, until, now time.Time) store.SandboxHold {
	return store.SandboxHold{
		SandboxKey: boxKey(id), Node: "node", Boot: boot, Limit: boxLimit, Now: now,
		Holder: store.SandboxHolder{ID: holder, Execution: "aex_1", Until: until},
	}
}

func drain(id, boot string, epoch int64, now time.Time) store.SandboxDrain {
	return store.SandboxDrain{SandboxKey: boxKey(id), Node: "node", Boot: boot, Epoch: epoch, Limit: boxLimit, Now: now}
}

func (f *fixture) box(id string) store.SandboxLease {
	f.t.Helper()
	l, err := f.Sandbox(f.t.Context(), boxKey(id))
	f.must(err)
	return l
}

// refused wants one of the faults of leases.
func (f *fixture) refused(what string, err, want error) {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Errorf("%s gave %v, want %v", what, err, want)
	}
}

// sandboxes: round once, and what each step refuses.
func sandboxes(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	_, err := s.Sandbox(ctx, boxKey("s"))
	s.refused("a lease of nothing", err, store.ErrNotFound)
	later := epoch.Add(time.Hour)
	l, err := s.HoldSandbox(ctx, hold("s", "a", "h1", later, epoch))
	s.must(err)
	if l.Liveness != store.SandboxWarming || l.Epoch != 1 || l.Boot != "a" || l.Node != "node" || !l.Until.Equal(epoch.Add(boxLimit)) || len(l.Holders) != 1 {
		t.Errorf("the first hold made %+v", l)
	}
	second, err := s.HoldSandbox(ctx, hold("s", "a", "h2", later, epoch))
	s.must(err)
	if second.Liveness != store.SandboxWarming || second.Epoch != 1 || second.Boot != "a" || len(second.Holders) != 2 {
		t.Errorf("a second hold made %+v, want the first one's warming", second)
	}
	stranger := l
	stranger.Boot = "b"
	s.refused("a warming that another process ends", s.WarmedSandbox(ctx, stranger, epoch), store.ErrSandboxLost)
	l.Image, l.Root, l.Deadline = "image", "/workspace", later
	s.must(s.WarmedSandbox(ctx, l, epoch.Add(time.Second)))
	if got := s.box("s"); got.Liveness != store.SandboxWarm || got.Image != "image" || got.Root != "/workspace" || !got.Warm.Equal(epoch.Add(time.Second)) || !got.Idle.IsZero() || !got.Deadline.Equal(later) {
		t.Errorf("warm, it is %+v", got)
	}
	_, err = s.DrainSandbox(ctx, drain("s", "a", 1, epoch.Add(time.Minute)))
	s.refused("a drain of what is held", err, store.ErrSandboxHeld)
	s.must(s.ReleaseSandbox(ctx, boxKey("s"), "h1", epoch.Add(2*time.Second)))
	if got := s.box("s"); !got.Idle.IsZero() {
		t.Errorf("with one holder left it is idle since %s", got.Idle)
	}
	s.must(s.ReleaseSandbox(ctx, boxKey("s"), "h2", epoch.Add(3*time.Second)))
	s.must(s.ReleaseSandbox(ctx, boxKey("s"), "h2", epoch.Add(9*time.Second)))
	if got := s.box("s"); !got.Idle.Equal(epoch.Add(3*time.Second)) || len(got.Holders) != 0 {
		t.Errorf("without a holder it is %+v", got)
	}
	_, err = s.DrainSandbox(ctx, drain("s", "a", 7, epoch.Add(time.Minute)))
	s.refused("a drain of another epoch", err, store.ErrSandboxLost)
	d, err := s.DrainSandbox(ctx, drain("s", "a", 1, epoch.Add(time.Minute)))
	s.must(err)
	_, err = s.DrainSandbox(ctx, drain("s", "a", 1, epoch.Add(time.Minute)))
	s.refused("a second drain", err, store.ErrSandboxBusy)
	waiting, err := s.HoldSandbox(ctx, hold("s", "a", "h3", later, epoch.Add(time.Minute)))
	s.must(err)
	if waiting.Liveness != store.SandboxDraining || len(waiting.Holders) != 0 {
		t.Errorf("a hold of what is drained made %+v", waiting)
	}
	s.refused("a cooling of what is drained", s.CooledSandbox(ctx, d, epoch), store.ErrSandboxLost)
	s.must(s.DrainedSandbox(ctx, d, false, epoch.Add(2*time.Minute)))
	if got := s.box("s"); got.Liveness != store.SandboxCold || got.Epoch != 1 || got.Node != "node" || got.Image != "image" || !got.Warm.IsZero() || !got.Idle.IsZero() {
		t.Errorf("cold, it is %+v", got)
	}
	s.refused("a second end", s.DrainedSandbox(ctx, d, false, epoch), store.ErrSandboxLost)
	again, err := s.HoldSandbox(ctx, hold("s", "b", "h4", later, epoch.Add(3*time.Minute)))
	s.must(err)
	if again.Epoch != 2 || again.Boot != "b" {
		t.Errorf("warmed again, it is %+v", again)
	}
	s.refused("a cooling of an earlier epoch", s.CooledSandbox(ctx, l, epoch), store.ErrSandboxLost)
	s.must(s.CooledSandbox(ctx, again, epoch))
	gone, err := s.DrainSandbox(ctx, store.SandboxDrain{SandboxKey: boxKey("s"), Node: "node", Boot: "a", Limit: boxLimit, Held: true, Now: epoch.Add(3 * time.Minute)})
	s.must(err)
	s.must(s.DrainedSandbox(ctx, gone, true, epoch))
	_, err = s.Sandbox(ctx, boxKey("s"))
	s.refused("what was removed", err, store.ErrNotFound)
	s.must(s.ReleaseSandbox(ctx, boxKey("s"), "h4", epoch)) // of what is gone: nothing
	if _, err := s.HoldSandbox(ctx, store.SandboxHold{SandboxKey: boxKey("s"), Limit: boxLimit}); err == nil {
		t.Error("a hold without a holder was taken")
	}
}

// sandboxTakeovers: a process that died keeps nobody from going on, and one on another node
// no longer than its time.
func sandboxTakeovers(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	later := epoch.Add(time.Hour)
	dead, err := s.HoldSandbox(ctx, hold("own", "a", "h", later, epoch))
	s.must(err)
	mine, err := s.HoldSandbox(ctx, hold("own", "b", "h", later, epoch.Add(time.Second))) // the same holder, another process
	s.must(err)
	if mine.Epoch != 2 || mine.Boot != "b" {
		t.Errorf("the next process of the node has %+v", mine)
	}
	s.refused("the end of a warming that was taken over", s.WarmedSandbox(ctx, dead, epoch), store.ErrSandboxLost)

	far := hold("far", "a", "h", later, epoch)
	far.Node = ""
	_, err = s.HoldSandbox(ctx, far)
	s.must(err)
	other := far
	other.Boot, other.Now = "b", epoch.Add(boxLimit-time.Nanosecond)
	if l, err := s.HoldSandbox(ctx, other); err != nil || l.Epoch != 1 {
		t.Errorf("within its time another process has %+v, %v", l, err)
	}
	other.Now = epoch.Add(boxLimit)
	if l, err := s.HoldSandbox(ctx, other); err != nil || l.Epoch != 2 || l.Boot != "b" {
		t.Errorf("behind its time another process has %+v, %v", l, err)
	}

	elsewhere := hold("own", "c", "h9", later, epoch.Add(time.Hour))
	elsewhere.Node = "other"
	if l, err := s.HoldSandbox(ctx, elsewhere); err != nil || l.Node != "node" || l.Epoch != 2 || len(l.Holders) != 1 {
		t.Errorf("a hold from another node made %+v, %v", l, err)
	}
	from := drain("own", "c", 0, epoch.Add(time.Hour))
	from.Node = "other"
	_, err = s.DrainSandbox(ctx, from)
	s.refused("a drain from another node", err, store.ErrSandboxBusy)
}

// sandboxHolders: an attempt holds as long as it is alive, others until their time.
func sandboxHolders(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("go")
	l, err := s.HoldSandbox(ctx, hold(c.Session, "a", c.Attempt, time.Time{}, epoch))
	s.must(err)
	s.must(s.WarmedSandbox(ctx, l, epoch))
	late := epoch.Add(24 * time.Hour)
	if n, err := s.ForgetHolders(ctx, late); err != nil || n != 0 {
		t.Errorf("of a living attempt %d holders were forgotten, %v", n, err)
	}
	_, err = s.DrainSandbox(ctx, drain(c.Session, "a", 1, late))
	s.refused("a drain below a living attempt", err, store.ErrSandboxHeld)
	s.must(s.Settle(ctx, c.Fence, store.Settlement{Phase: agentexecutionv1.ExecutionPhase_completed, Now: late, Events: func(store.Totals) []*eventv1.Event { return nil }}))
	if n, err := s.ForgetHolders(ctx, late); err != nil || n != 1 {
		t.Errorf("of an ended attempt %d holders were forgotten, %v", n, err)
	}
	if got := s.box(c.Session); !got.Idle.Equal(late) || len(got.Holders) != 0 {
		t.Errorf("then it is %+v", got)
	}
	_, err = s.HoldSandbox(ctx, hold(c.Session, "a", "exec", late.Add(time.Minute), late))
	s.must(err)
	if n, err := s.ForgetHolders(ctx, late.Add(time.Minute)); err != nil || n != 1 {
		t.Errorf("behind its time %d holders were forgotten, %v", n, err)
	}
	all, err := s.Sandboxes(ctx, store.SandboxKey{}, 10)
	s.must(err)
	if len(all) != 1 || all[0].ID != c.Session {
		t.Errorf("the list is %+v", all)
	}
	if rest, err := s.Sandboxes(ctx, all[0].SandboxKey, 10); err != nil || len(rest) != 0 {
		t.Errorf("behind the last one there are %+v, %v", rest, err)
	}
}

// sandboxRaces: of many servers one warms a sandbox, and one ends it.
func sandboxRaces(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	const many = 16
	var all sync.WaitGroup
	warming, draining := make(chan store.SandboxLease, many), make(chan store.SandboxLease, many)
	for i := range many {
		all.Go(func() {
			h := hold("s", fmt.Sprint("boot", i), fmt.Sprint("h", i), epoch.Add(time.Hour), epoch)
			h.Node = ""
			l, err := s.HoldSandbox(ctx, h)
			if err != nil {
				t.Error(err)
			}
			if l.Boot == h.Boot {
				warming <- l
			}
		})
	}
	all.Wait()
	if len(warming) != 1 {
		t.Fatalf("%d of %d warm it", len(warming), many)
	}
	s.must(s.WarmedSandbox(ctx, <-warming, epoch))
	if got := s.box("s"); len(got.Holders) != many {
		t.Errorf("%d of %d hold it", len(got.Holders), many)
	}
	for i := range many {
		all.Go(func() {
			if err := s.ReleaseSandbox(ctx, boxKey("s"), fmt.Sprint("h", i), epoch); err != nil {
				t.Error(err)
			}
			d := drain("s", fmt.Sprint("boot", i), 1, epoch)
			d.Node = ""
			l, err := s.DrainSandbox(ctx, d)
			switch {
			case err == nil:
				draining <- l
			case !errors.Is(err, store.ErrSandboxHeld) && !errors.Is(err, store.ErrSandboxBusy):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(draining) != 1 {
		t.Errorf("%d of %d end it", len(draining), many)
	}
}
