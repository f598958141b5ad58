package retention_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/retention"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/telemetry"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rested makes a session whose log ended at a time, with an answer in n pieces.
func rested(t *testing.T, s store.Store, session string, at time.Time, n int) {
	t.Helper()
	events := []*eventv1.Event{event.New(at, &eventv1.SessionCreated{}), event.New(at, &eventv1.TurnQueued{InputId: "i"})}
	for i := range n {
		events = append(events, event.New(at, &eventv1.AgentMessageDelta{Call: 1, Text: fmt.Sprint(i)}))
	}
	events = append(events, event.New(at, &eventv1.AgentMessageCompleted{Call: 1, Text: "all of it"}), event.New(at, &eventv1.TurnCompleted{}))
	for _, e := range events {
		e.ExecutionId = "aex_1"
	}
	must(t, s.CreateSession(t.Context(), store.NewSession{
		Row: store.Row{Kind: resourcev1.ResourceKind_session, ID: session, Org: "default", Data: []byte{}}, Root: session, Events: events,
	}, nil))
}

func open(t *testing.T) (s store.Store, dir string) {
	t.Helper()
	dir = sqlitetest.Fresh(t)
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, dir
}

func worker(s store.Store, owner string) *retention.Worker {
	return retention.New(retention.Options{
		Store: s, Age: 24 * time.Hour, Owner: owner, Now: func() time.Time { return now }, Log: telemetry.Discard(), Pause: time.Nanosecond,
	})
}

func TestWhatIsOldIsThinnedOutAndWhatIsYoungStays(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	rested(t, s, "ses_young", now.Add(-time.Hour), 50)
	rested(t, s, "ses_old", now.Add(-48*time.Hour), 1200) // its events are the greatest rows
	log := eventlog.New(s)
	before, err := log.Transcript(t.Context(), "ses_old")
	must(t, err)
	sum, err := worker(s, "one").Pass(t.Context())
	if err != nil || sum.Sessions != 1 || sum.Events != 1199 {
		t.Errorf("it removed %+v, %v", sum, err)
	}
	after, err := log.Transcript(t.Context(), "ses_old")
	if err != nil || !proto.Equal(before, after) {
		t.Errorf("the transcript is %v, %v", after, err)
	}
	if st, err := s.Session(t.Context(), "ses_young"); err != nil || st.Removed != 0 {
		t.Errorf("the young one is %+v, %v", st, err)
	}
	if sum, err := worker(s, "one").Pass(t.Context()); err != nil || sum != (retention.Sum{}) {
		t.Errorf("a second pass removed %+v, %v", sum, err)
	}
	copied := filepath.Join(t.TempDir(), "copy") // as a kill would leave it
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	again, err := sqlite.Open(t.Context(), copied)
	must(t, err)
	must(t, again.Close())
}

func TestOneServerDoesIt(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	rested(t, s, "ses_old", now.Add(-48*time.Hour), 10)
	if _, err := s.AcquireLease(t.Context(), "retention", "another", time.Minute, now); err != nil {
		t.Fatal(err)
	}
	if sum, err := worker(s, "one").Pass(t.Context()); err != nil || sum != (retention.Sum{}) {
		t.Errorf("beside another server it removed %+v, %v", sum, err)
	}
}

// quiet is a store without sessions that counts what is asked of it.
type quiet struct {
	store.Store
	calls int
}

func (q *quiet) AcquireLease(context.Context, string, string, time.Duration, time.Time) (store.Lease, error) {
	q.calls++
	return store.Lease{}, nil
}

func (q *quiet) Settled(context.Context, string, int) ([]store.Settled, error) {
	q.calls++
	return nil, nil
}

func (q *quiet) TrimUsage(context.Context, time.Time, int) (int64, error) {
	q.calls++
	return 0, nil
}

func TestIdleItAsksLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &quiet{}
		ctx, cancel := context.WithCancel(t.Context())
		go retention.New(retention.Options{Store: q, Age: 24 * time.Hour, Owner: "one", Now: time.Now, Log: telemetry.Discard()}).Run(ctx)
		time.Sleep(10 * time.Hour)
		cancel()
		synctest.Wait()
		if q.calls == 0 || q.calls > 10*10 {
			t.Errorf("in ten hours it asked %d times", q.calls)
		}
	})
}

func TestTheAgeIsReadStrictly(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]time.Duration{"": 0, "90d": 90 * 24 * time.Hour, "36h": 36 * time.Hour, " 1d ": 24 * time.Hour, "1h": time.Hour, "60m": time.Hour} {
		if got, err := retention.Age(func(string) string { return word }); got != want || err != nil {
			t.Errorf("%q is %s, %v", word, got, err)
		}
	}
	for _, word := range []string{"90", "0d", "-1h", "d", "forever", "1.5d", "99999999d", "1s", "59m", "3599s"} {
		if _, err := retention.Age(func(string) string { return word }); fault.ReasonOf(err) != "BAD_RETENTION" {
			t.Errorf("%q gave %v", word, err)
		}
	}
}
