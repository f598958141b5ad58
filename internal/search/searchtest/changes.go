package searchtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

func (f *fixture) exec(q string, args ...any) {
	f.Helper()
	f.must(f.Write(f.Context(), "test", "", func(tx sqldb.Tx) error { return tx.Exec(q, args...) }))
}

// dirty counts what waits to be indexed.
func (f *fixture) dirty() (n int) {
	f.Helper()
	f.must(f.Read(f.Context()).Row("SELECT count(*) FROM search_dirty").Scan(&n))
	return n
}

// begin accepts an input, in a new session when none is named.
func (f *fixture) begin(text, session string) (ses, execution string) {
	f.Helper()
	a := store.Accept{Session: session, Now: epoch, Input: store.Input{ID: id.New("inp"), Item: &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}}}
	if session == "" {
		m := &sessionv1.Session{Metadata: &resourcev1.Metadata{Id: id.New("ses"), Org: "default", Visibility: resourcev1.Visibility_private}, Spec: &sessionv1.SessionSpec{Agent: "pilot"}}
		a.New = &store.NewSession{Row: rowOf(sessionKind, m), Root: m.GetMetadata().GetId()}
		a.Session = m.GetMetadata().GetId()
	}
	m := &agentexecutionv1.AgentExecution{
		Metadata: &resourcev1.Metadata{Id: id.New("aex"), Org: "default", Visibility: resourcev1.Visibility_private},
		Spec:     &agentexecutionv1.AgentExecutionSpec{SessionId: a.Session},
	}
	a.Execution = rowOf(executionKind, m)
	_, err := f.Accept(f.Context(), a)
	f.must(err)
	return a.Session, m.GetMetadata().GetId()
}

func (f *fixture) claim(session, execution string) store.Fence {
	f.Helper()
	c, err := f.Claim(f.Context(), store.Claim{
		Session: session, Execution: execution, Attempt: id.New("att"), BootEpoch: "boot", Policy: &ledgerv1.ExecutionPolicy{}, Now: epoch,
		Events: func(store.Taken) []*eventv1.Event { return nil },
	})
	f.must(err)
	return c.Fence
}

// changesAtOnce: what a call acknowledged, the next search sees.
func changesAtOnce(f *fixture) {
	s := f.ready()
	rows := f.add(thing{slug: "first", text: "ebb"})
	s.want("ebb", "first")
	for n := range 20 {
		word := fmt.Sprintf("tide%d", n)
		_, err := f.Update(f.Context(), agentKind, rows[0].ID, nil, func(r store.Row) (store.Row, error) {
			f.created = 0
			next := f.row(thing{slug: "first", text: word})
			next.Data = f.rename(next.Data, r.ID)
			return next, nil
		})
		f.must(err)
		s.want(word, "first")
		s.want(fmt.Sprintf("tide%d x", n-1), "")
	}
	second := f.row(thing{slug: "second", text: "flood"})
	f.must(f.Save(f.Context(), second))
	s.want("flood", "second")
	second.Visibility = "public"
	f.must(f.Save(f.Context(), second))
	s.want("flood", "second")
	_, err := f.Delete(f.Context(), agentKind, rows[0].ID, nil, nil)
	f.must(err)
	s.want("first", "")
	s.want("", "second")
	if n := f.dirty(); n != 0 {
		f.Errorf("%d changes wait after all was searched", n)
	}
}

// turns: an input is found when it is accepted, an answer when it is given, and what
// happens between costs the index nothing.
func turns(f *fixture) {
	s := f.ready()
	session, execution := f.begin("Where does the heron nest?", "")
	s.want("heron", execution)
	s.want("pilot", session)
	fence := f.claim(session, execution)
	f.must(f.Dispatch(f.Context(), fence, store.Dispatch{Number: 1, Hold: &messagev1.Usage{}, Now: epoch}))
	item := &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{Parts: []*messagev1.AssistantPart{
		{Part: &messagev1.AssistantPart_Text{Text: "In the reeds."}},
	}}}}
	f.must(f.Respond(f.Context(), fence, store.Response{Number: 1, Item: item, Usage: &messagev1.Usage{}, Now: epoch}))
	if n := f.dirty(); n != 0 {
		f.Errorf("a turn that runs left %d marks", n)
	}
	s.want("reeds", "")
	f.must(f.Settle(f.Context(), fence, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_completed, Now: epoch, Events: func(store.Totals) []*eventv1.Event { return nil },
	}))
	_, later := f.begin("and what does it eat", session)
	s.want("reeds", execution)
	s.want("eat", later)
	hit := s.find(search.Criteria{Query: "reeds"}).Hits[0]
	if hit.Session != session || hit.Snippet != "Where does the heron nest? In the ⟦reeds⟧." || hit.Kind != "agent_execution" {
		f.Errorf("the turn is found as %+v", hit)
	}
	_, err := f.RequestCancel(f.Context(), store.CancelRequest{Session: session, Now: epoch})
	f.must(err)
	s.want("eat", later)
	_, err = f.DeleteSession(f.Context(), session, nil)
	f.must(err)
	s.want("heron", "")
	s.want("", "")
}

// refusedChanges: what is not written is not marked.
func refusedChanges(f *fixture) {
	s := f.ready()
	rows := f.add(thing{slug: "one"})
	s.want("one", "one")
	refused := errors.New("refused")
	if _, err := f.Update(f.Context(), agentKind, rows[0].ID, nil, func(store.Row) (store.Row, error) { return store.Row{}, refused }); !errors.Is(err, refused) {
		f.Errorf("the update gave %v", err)
	}
	if _, err := f.Delete(f.Context(), agentKind, rows[0].ID, nil, func(store.Row) error { return refused }); !errors.Is(err, refused) {
		f.Errorf("the delete gave %v", err)
	}
	if err := f.Create(f.Context(), rows[0], nil); err == nil {
		f.Error("a second row with the id was stored")
	}
	if n := f.dirty(); n != 0 {
		f.Errorf("refused changes left %d marks", n)
	}
	s.want("", "one")
}

// manyWriters: each finds its own at once.
func manyWriters(f *fixture) {
	s := f.ready()
	rows := make([]store.Row, 200)
	for n := range rows {
		rows[n] = f.row(thing{slug: fmt.Sprintf("w%03d", n), text: fmt.Sprintf("crate%03dx", n)})
	}
	together(8, func(w int) {
		for n := w; n < len(rows); n += 8 {
			if err := f.Create(f.Context(), rows[n], nil); err != nil {
				f.Error(err)
				return
			}
			began := time.Now()
			res, err := s.Finder.Search(f.Context(), search.Criteria{Query: fmt.Sprintf("crate%03dx", n)})
			if err != nil || res.Total != 1 || res.Hits[0].ID != rows[n].ID {
				f.Errorf("writer %d did not find its row: %+v, %v, after %s", w, res, err, time.Since(began))
			}
		}
	})
	if res := s.find(search.Criteria{Query: "w"}); res.Total != 200 {
		f.Errorf("%d of 200 rows are found", res.Total)
	}
}

// twoServers: two indexers on one database do each other no harm.
func twoServers(f *fixture) {
	other := f.handle()
	servers := []*server{f.serve(f.Store, extractors()), f.serve(other, extractors())}
	stores := []Store{f.Store, other}
	for _, s := range servers {
		s.await()
	}
	rows := make([]store.Row, 100)
	for n := range rows {
		rows[n] = f.row(thing{slug: fmt.Sprintf("w%03d", n), text: fmt.Sprintf("crate%03dx", n)})
	}
	together(4, func(w int) {
		for n := w; n < len(rows); n += 4 {
			if err := stores[n%2].Create(context.WithoutCancel(f.Context()), rows[n], nil); err != nil {
				f.Error(err)
				return
			}
			if n%10 == 3 {
				if _, err := stores[1-n%2].Delete(f.Context(), agentKind, rows[n].ID, nil, nil); err != nil {
					f.Error(err)
				}
			}
			res, err := servers[w/2].Finder.Search(f.Context(), search.Criteria{Query: fmt.Sprintf("crate%03dx", n)})
			if want := int64(1); err != nil || res.Total != want && n%10 != 3 || res.Total != 0 && n%10 == 3 {
				f.Errorf("row %d: found %d, %v", n, res.Total, err)
			}
		}
	})
	for _, s := range servers {
		if res := s.find(search.Criteria{}); res.Total != 90 || res.Counts["agent"] != 90 {
			f.Errorf("the counts are %d, %v", res.Total, res.Counts)
		}
	}
}
