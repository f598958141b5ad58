package cli

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// heedEvery is how often a watch asks whether the server that works on its session is silent.
const heedEvery = 5 * time.Second

// noteStalled says beside a table which sessions do not go on, and why. Other forms of
// output have it in status.stalled.
func (c *app) noteStalled(all []proto.Message) {
	if c.output != "table" {
		return
	}
	for _, m := range all {
		if s, ok := m.(*sessionv1.Session); ok && s.GetStatus().GetStalled() != "" {
			c.note("%s does not go on: %s", s.GetMetadata().GetId(), s.GetStatus().GetStalled())
		}
	}
}

// heed says, until stop is called, when the session ceases to go on: all that its stream
// does then is to be silent.
func (f *following) heed(ctx context.Context, cl *client) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(heedEvery)
		defer tick.Stop()
		for look, was := f.all(), false; ; look = true {
			if look { // a turn that this command began is not stalled yet
				cl, was = f.stalled(ctx, cl, was)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// stalled looks once, and says what it finds unless it was so before. A client that gets
// no answer is replaced: the server may listen elsewhere now.
func (f *following) stalled(ctx context.Context, cl *client, was bool) (*client, bool) {
	s, err := cl.session(ctx, f.session)
	if err != nil {
		if again, err := f.printer.c.connect(); err == nil {
			cl.http.CloseIdleConnections()
			cl = again
		}
		return cl, was
	}
	why := s.GetStatus().GetStalled()
	if why != "" && !was {
		f.printer.say("the session does not go on: %s", why)
	}
	return cl, why != ""
}
