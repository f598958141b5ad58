package searchtest

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// rename gives an agent's bytes another id.
func (f *fixture) rename(data []byte, id string) []byte {
	m := &agentv1.Agent{}
	f.must(proto.Unmarshal(data, m))
	m.Metadata.Id = id
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	f.must(err)
	return out
}

// other is the extractors with another version of the agents'.
func other(version int) map[string]*search.Extractor {
	all := extractors()
	e := *all["agent"]
	e.Version = version
	all["agent"] = &e
	return all
}

// C133: whatever the index held, a rebuild makes it what the resources are.
func staleIndex(f *fixture) {
	first := f.ready()
	rows := f.add(thing{slug: "one", text: "tide"}, thing{slug: "two", text: "tide"})
	session, _ := f.begin("tide", "")
	first.wantAny(search.Criteria{Query: "tide", Kinds: []string{"agent"}}, "one two")
	first.Stop()
	f.must(f.Write(f.Context(), "spoil", "", func(tx sqldb.Tx) error { // lost rows and rows that never were
		var current int64
		if err := tx.Row("SELECT current FROM search_state").Scan(&current); err != nil {
			return err
		}
		return f.index().Write(tx, search.SlotOf(current), []search.Document{{Kind: "agent", ID: "agt_ghost", Org: "default", Slug: "ghost", CreatedAt: epoch}},
			[]search.Key{{Kind: "agent", ID: rows[0].ID}, {Kind: "session", ID: session}})
	}))
	again := f.serve(f.Store, other(2))
	again.await()
	again.wantAny(search.Criteria{Query: "tide", Kinds: []string{"agent"}}, "one two")
	again.wantAny(search.Criteria{Kinds: []string{"session"}}, session)
	again.want("ghost", "")
	if res := again.find(search.Criteria{}); res.Total != 4 {
		f.Errorf("the list counts %d, want 4", res.Total)
	}
}

// C135, C136: a database from before the index is found, and its bytes are as they were.
func adopted(f *fixture) {
	rows := f.add(thing{org: "harbor", slug: "ledger-close", name: "ledger-close", description: "Closes the ledger", text: "Close it."}, thing{org: "quay", slug: "ledger-close"})
	f.forget()
	s := f.ready()
	res := s.find(search.Criteria{Query: "ledger-close", Kinds: []string{"agent"}, Org: "harbor"})
	if res.Total != 1 || res.Hits[0].ID != rows[0].ID || res.Hits[0].Description != "Closes the ledger" || res.Hits[0].Name != "ledger-close" {
		f.Errorf("found %+v", res)
	}
	row, err := f.Get(f.Context(), agentKind, rows[0].ID)
	if err != nil || !bytes.Equal(row.Data, rows[0].Data) {
		f.Errorf("the row's bytes are others now (%v)", err)
	}
}

// C134: a kind that lost its extractor is found no more.
func lostExtractor(f *fixture) {
	first := f.ready()
	f.add(thing{slug: "one", text: "tide"})
	_, execution := f.begin("tide", "")
	first.wantAny(search.Criteria{Query: "tide"}, "one "+execution)
	first.Stop()
	less := extractors()
	delete(less, "agent")
	s := f.serve(f.Store, less)
	s.wantAny(search.Criteria{Query: "tide"}, execution) // also while the index still holds it
	s.await()
	s.wantAny(search.Criteria{Query: "tide"}, execution)
	s.wantAny(search.Criteria{Kinds: []string{"agent"}}, "")
	f.add(thing{slug: "two", text: "tide"})
	s.wantAny(search.Criteria{Query: "tide"}, execution)
	if res := s.find(search.Criteria{}); res.Counts["agent"] != 0 || res.Total != 2 {
		f.Errorf("the list counts %v", res.Counts)
	}
}

// C139: a kind that is searchable now is listed and found.
func newExtractor(f *fixture) {
	less := extractors()
	delete(less, "agent")
	first := f.serve(f.Store, less)
	first.await()
	f.add(thing{slug: "one", text: "tide"})
	first.wantAny(search.Criteria{Query: "tide"}, "")
	first.Stop()
	s := f.ready()
	s.wantAny(search.Criteria{Query: "tide"}, "one")
	s.wantAny(search.Criteria{}, "one")
	s.wantAny(search.Criteria{Kinds: []string{"agent"}}, "one")
}

// C132: a kind without an extractor is no reason not to start.
func missingExtractor(f *fixture) {
	var log bytes.Buffer
	known := search.NewRegistry()
	known.Add(f.Context(), slog.New(slog.NewTextHandler(&log, nil)), "agent", messages["agent"], nil)
	known.Add(f.Context(), slog.New(slog.DiscardHandler), "session", messages["session"], extractors()["session"])
	if got := strings.Join(known.Kinds(), " "); got != "session" || known.Has("agent") {
		f.Errorf("the searchable kinds are %s", got)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "kind=agent") {
		f.Errorf("the log says %q", log.String())
	}
	f.add(thing{slug: "one"})
	session, _ := f.begin("tide", "")
	s := f.serve(f.Store, nil, func(o *search.Options) { o.Known = known })
	s.await()
	s.want("", session)
}

// held holds a rebuild in its middle until release is called.
func held() (extractor *search.Extractor, reached <-chan struct{}, release func()) {
	at, goOn := make(chan struct{}), make(chan struct{})
	first := true
	e := search.Extract(7, func(a *agentv1.Agent) search.Content {
		if first && a.GetMetadata().GetSlug() == "gate" {
			first = false
			close(at)
			<-goOn
		}
		return search.Content{Text: a.GetSpec().GetInstructions() + " anew"}
	})
	return e, at, func() { close(goOn) }
}

// oldAnswers: searches are answered from the old index until the new one is whole.
func oldAnswers(f *fixture) {
	first := f.ready()
	f.add(thing{slug: "one", text: "tide"}, thing{slug: "gate"})
	first.wantAny(search.Criteria{}, "one gate")
	first.Stop()
	e, reached, release := held()
	s := f.serve(f.Store, map[string]*search.Extractor{"agent": e})
	<-reached
	s.want("tide", "one")
	s.want("anew", "")
	release()
	s.await()
	s.want("tide", "one")
	s.wantAny(search.Criteria{Query: "anew"}, "one gate")
}

// changesDuringRebuild: what changes while the index is filled is in the new one as it
// was changed last, and what is deleted is not.
func changesDuringRebuild(f *fixture) {
	first := f.ready()
	var rows []store.Row
	for n := range 300 {
		rows = append(rows, f.add(thing{slug: fmt.Sprintf("w%03d", n), text: "before"})...)
	}
	first.want("w299", "w299")
	first.Stop()
	s := f.serve(f.Store, other(2))
	together(4, func(w int) {
		for n := w; n < len(rows); n += 4 {
			switch n % 3 {
			case 0:
				if _, err := f.Delete(f.Context(), agentKind, rows[n].ID, nil, nil); err != nil {
					f.Error(err)
				}
			case 1:
				if _, err := f.Update(f.Context(), agentKind, rows[n].ID, nil, func(r store.Row) (store.Row, error) {
					m := &agentv1.Agent{}
					if err := proto.Unmarshal(r.Data, m); err != nil {
						return r, err
					}
					m.Spec.Instructions = "after"
					data, err := proto.Marshal(m)
					r.Data = data
					return r, err
				}); err != nil {
					f.Error(err)
				}
			}
		}
	})
	added := f.add(thing{slug: "late", text: "after"})
	s.await()
	for query, want := range map[string]int64{"before": 100, "after": 101, "": 201} {
		if res := s.find(search.Criteria{Query: query}); res.Total != want {
			f.Errorf("%q finds %d, want %d", query, res.Total, want)
		}
	}
	s.want("late", added[0].Slug)
}

// killedRebuild: the next one begins anew once the lease has ended, and not before.
func killedRebuild(f *fixture) {
	for n := range 20 {
		f.add(thing{slug: fmt.Sprintf("w%03d", n), text: "tide"})
	}
	f.add(thing{slug: "gate"})
	f.forget()
	e, reached, release := held()
	killed := f.serve(f.Store, map[string]*search.Extractor{"agent": e}, func(o *search.Options) { o.Lease = 300 * time.Millisecond })
	<-reached
	handle := f.handle()
	next := f.serve(handle, other(2))
	go func() { // what it was doing fails as at the end of its process
		killed.Stop()
	}()
	var holder string
	f.must(f.Read(f.Context()).Row("SELECT holder FROM search_state").Scan(&holder))
	if holder == "" {
		f.Error("nobody holds the rebuild")
	}
	release()
	next.await()
	next.wantAny(search.Criteria{Query: "tide w01"}, "w010 w011 w012 w013 w014 w015 w016 w017 w018 w019")
	if res := next.find(search.Criteria{}); res.Total != 21 {
		f.Errorf("%d of 21 are found", res.Total)
	}
	var bulk int
	f.must(f.Read(f.Context()).Row("SELECT count(*) FROM search_dirty WHERE bulk = 1").Scan(&bulk))
	if bulk != 0 {
		f.Errorf("%d marks of the killed rebuild are left", bulk)
	}
}
