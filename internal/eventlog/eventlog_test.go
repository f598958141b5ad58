package eventlog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// source is a log in memory that keeps the bytes, as a store does.
type source struct {
	mu      sync.Mutex
	rows    [][]byte // nil where retention removed one
	removed int64
	log     *eventlog.Log
}

func newSource() *source {
	s := &source{}
	s.log = eventlog.New(s)
	return s
}

func (s *source) Session(context.Context, string) (store.SessionState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(), nil
}

func (s *source) Events(_ context.Context, q store.EventQuery) ([]*eventv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*eventv1.Event
	for _, data := range s.rows[min(int(q.After), len(s.rows)):] {
		if data == nil {
			continue
		}
		e := &eventv1.Event{}
		if err := proto.Unmarshal(data, e); err != nil {
			return nil, err
		}
		if len(q.Types) > 0 && !slices.Contains(q.Types, e.GetType()) {
			continue
		}
		if out = append(out, e); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// commit stores events and publishes them afterwards.
func (s *source) commit(payloads ...proto.Message) {
	s.mu.Lock()
	var events []*eventv1.Event
	for _, p := range payloads {
		e := event.New(time.Unix(1, 0), p)
		e.SessionId, e.RootId, e.ExecutionId, e.Association = "ses", "ses", "aex", eventv1.Association_current
		e.Seq = int64(len(s.rows)) + 1
		e.TreeSeq = e.Seq
		data, err := proto.Marshal(e)
		if err != nil {
			panic(err)
		}
		s.rows = append(s.rows, data)
		events = append(events, e)
	}
	s.mu.Unlock()
	s.log.Publish(events)
}

func text(offset int64, s string) *eventv1.AgentMessageDelta {
	return &eventv1.AgentMessageDelta{Call: 1, Offset: offset, Text: s}
}

func piece(offset int64, s string) *eventv1.EphemeralDelta {
	return &eventv1.EphemeralDelta{SessionId: "ses", ExecutionId: "aex", Call: 1, Offset: offset, Text: s}
}

// read takes frames until n durable events were seen.
func read(ctx context.Context, l *eventlog.Log, after string, f eventlog.Filter, n int) ([]eventlog.Frame, error) {
	frames, err := l.Subscribe(ctx, eventlog.Subscription{Session: "ses", After: after, Filter: f})
	if err != nil {
		return nil, err
	}
	var got []eventlog.Frame
	durable := 0
	for frame, err := range frames {
		if err != nil {
			return got, err
		}
		if frame.Heartbeat {
			continue
		}
		got = append(got, frame)
		if frame.Event != nil {
			durable++
		}
		if durable == n {
			break
		}
	}
	return got, ctx.Err()
}

func TestReadersThatComeAndGoSeeEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const total, readers = 3000, 40
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newSource()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for r := range readers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(r)))
			after, next := "", int64(1)
			for next <= total {
				got, err := read(ctx, s.log, after, eventlog.All, min(1+random.IntN(400), total-int(next)+1))
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range got {
					if f.Event == nil {
						continue
					}
					if f.Event.GetSeq() != next {
						t.Errorf("reader %d got %d, want %d", r, f.Event.GetSeq(), next)
						return
					}
					next, after = next+1, f.ID
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 1<<32))
	for n := 0; n < total; {
		batch := min(1+random.IntN(20), total-n)
		payloads := make([]proto.Message, batch)
		for i := range payloads {
			payloads[i] = text(int64(n+i), "x")
		}
		s.commit(payloads...)
		s.log.Show(piece(int64(n), "x"))
		n += batch
	}
	all.Wait()
}

func TestReplayIsTheSameAsLive(t *testing.T) {
	t.Parallel()
	s := newSource()
	live := make(chan []eventlog.Frame, 1)
	ready := make(chan struct{})
	frames, err := s.log.Subscribe(t.Context(), eventlog.Subscription{Session: "ses", Filter: eventlog.All})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		var got []eventlog.Frame
		close(ready)
		for f := range frames {
			if got = append(got, f); len(got) == 5 {
				break
			}
		}
		live <- got
	}()
	<-ready
	for s.log.Readers("ses") == 0 {
		time.Sleep(time.Millisecond)
	}
	for i := range 5 {
		s.commit(text(int64(i), fmt.Sprint(i)))
	}
	replayed, err := read(t.Context(), s.log, "", eventlog.All, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range <-live {
		if f.ID != replayed[i].ID || !proto.Equal(f.Event, replayed[i].Event) {
			t.Errorf("frame %d was %v live and %v replayed", i, f, replayed[i])
		}
	}
}

func TestACursorBelongsToItsFilter(t *testing.T) {
	t.Parallel()
	s := newSource()
	s.commit(text(0, "a"), &eventv1.TurnStarted{}, text(1, "b"))
	only := eventlog.Filter{Types: []string{"turn.started"}, MaxDepth: -1}
	got, err := read(t.Context(), s.log, "", only, 1)
	if err != nil || len(got) != 1 || got[0].Event.GetSeq() != 2 {
		t.Fatalf("the filter gave %v, %v", got, err)
	}
	for cursor, reason := range map[string]string{
		got[0].ID: "CURSOR_OF_OTHER_FILTER", "x": "BAD_CURSOR", "-1": "BAD_CURSOR", "1.zz": "BAD_CURSOR", "99": "CURSOR_AHEAD",
	} {
		_, err := s.log.Subscribe(t.Context(), eventlog.Subscription{Session: "ses", After: cursor, Filter: eventlog.All})
		if fault.ReasonOf(err) != reason {
			t.Errorf("the cursor %q gave %v, want %s", cursor, err, reason)
		}
	}
	if _, err := s.log.Subscribe(t.Context(), eventlog.Subscription{Session: "ses", Filter: eventlog.Filter{Types: []string{"turn*"}}}); fault.ReasonOf(err) != "BAD_EVENT_TYPE" {
		t.Errorf("a bad type gave %v", err)
	}
	same := eventlog.Filter{Types: []string{"turn.started", "turn.started"}, MaxDepth: -1}
	if _, err := same.Parse(got[0].ID); err != nil {
		t.Errorf("the same filter written otherwise refuses the cursor: %v", err)
	}
}

func TestPagesEndWhereTheLogEnds(t *testing.T) {
	t.Parallel()
	s := newSource()
	for i := range 10 {
		s.commit(text(int64(i), "x"))
	}
	var seqs []int64
	for after := ""; ; {
		page, err := s.log.Page(t.Context(), "ses", after, 4, eventlog.All)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			seqs = append(seqs, e.GetSeq())
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if !slices.Equal(seqs, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Fatalf("the pages hold %v", seqs)
	}
}

func TestTextIsShownOnceAndNeverAfterItIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.commit(&eventv1.AgentModelRequest{Call: 1})
		ctx, cancel := context.WithCancel(t.Context())
		frames, err := s.log.Subscribe(ctx, eventlog.Subscription{Session: "ses", Filter: eventlog.All})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for f := range frames {
				if f.Ephemeral != nil {
					got = append(got, "e:"+f.Ephemeral.GetText())
				}
				if d := f.Event.GetAgentMessageDelta(); d != nil {
					got = append(got, "d:"+d.GetText())
				}
			}
		}()
		synctest.Wait()
		s.log.Show(piece(0, "ab"))
		synctest.Wait()
		s.commit(text(0, "abcd"))
		s.log.Show(piece(2, "cd")) // too late: its bytes are durable
		synctest.Wait()
		s.log.Show(piece(4, "ef"))
		synctest.Wait()
		cancel()
		<-gone
		if want := []string{"e:ab", "d:abcd", "e:ef"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestSilenceIsFilledWithHeartbeatsAndTheRightIsCheckedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		began := time.Now()
		refusal := fault.New(fault.PermissionDenied, "GONE", "no longer allowed")
		frames, err := s.log.Subscribe(t.Context(), eventlog.Subscription{Session: "ses", Filter: eventlog.All, Recheck: func(context.Context) error {
			if time.Since(began) < 45*time.Second {
				return nil
			}
			return refusal
		}})
		if err != nil {
			t.Fatal(err)
		}
		beats := 0
		for f, err := range frames {
			if err != nil {
				if fault.ReasonOf(err) != "GONE" || time.Since(began) != time.Minute {
					t.Fatalf("the stream ended with %v after %s", err, time.Since(began))
				}
				break
			}
			if f.Heartbeat {
				beats++
			}
		}
		if beats < 3 {
			t.Fatalf("%d heartbeats in a minute of silence, want one every 15 s", beats)
		}
		if s.log.Readers("ses") != 0 {
			t.Fatal("the reader was not taken off")
		}
	})
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	s := newSource()
	s.commit(
		&eventv1.InputQueued{InputId: "i", Text: "hello"}, &eventv1.TurnQueued{InputId: "i"}, &eventv1.TurnStarted{},
		&eventv1.AgentModelRequest{Call: 1}, text(0, "lost"), &eventv1.TurnRecoveryRequested{LostGeneration: 1},
		&eventv1.AgentModelRequest{Call: 2}, &eventv1.AgentMessageDelta{Call: 2, Text: "I "}, &eventv1.AgentMessageCompleted{Call: 2, Text: "I read."},
		&eventv1.AgentToolRequested{CallId: "c", Name: "read", Arguments: "{}"}, &eventv1.AgentToolStarted{CallId: "c"},
		&eventv1.AgentToolCompleted{CallId: "c", Result: "text", DurationMs: 7}, &eventv1.TurnCompleted{},
	)
	got, err := s.log.Transcript(t.Context(), "ses")
	if err != nil || len(got.GetTurns()) != 1 || got.GetLastSeq() != 13 {
		t.Fatalf("got %v, %v", got, err)
	}
	entries := got.GetTurns()[0].GetEntries()
	if len(entries) != 3 || entries[0].GetUser() != "hello" || entries[1].GetAssistant() != "I read." {
		t.Fatalf("the entries are %v", entries)
	}
	if tool := entries[2].GetTool(); tool.GetState() != "completed" || tool.GetResult() != "text" || tool.GetName() != "read" {
		t.Fatalf("the tool is %v", tool)
	}
	if got.GetTurns()[0].GetPhase().String() != "completed" {
		t.Fatalf("the turn is %s", got.GetTurns()[0].GetPhase())
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("12.abcdef01")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, cursor string) {
		order, err := eventlog.All.Parse(cursor)
		if err == nil && order < 0 || err != nil && fault.CodeOf(err) != fault.InvalidArgument {
			t.Fatalf("%q gave %d, %v", cursor, order, err)
		}
	})
}
