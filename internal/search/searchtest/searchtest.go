// Package searchtest is the contract of package search as tests. Every driver runs all
// of it over a real store.
package searchtest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/store"
)

// Store is a store whose database takes an index.
type Store interface {
	store.Store
	search.Database
}

// Open makes an empty database for one test. Each call of what it answers opens
// a handle of it, which is closed at the test's end.
type Open func(t testing.TB) (handle func() Store)

// Run runs the whole contract.
func Run(t *testing.T, open Open, index func() search.Index) {
	for _, c := range []struct {
		name string
		run  func(*fixture)
	}{
		{"words", findsWords},
		{"scores", scores},
		{"snippets", snippets},
		{"lists", lists},
		{"organizations", organizations},
		{"what is public", public},
		{"kinds", kinds},
		{"nothing to find", nothing},
		{"bad queries", badQueries},
		{"common words", commonWords},
		{"changes at once", changesAtOnce},
		{"turns", turns},
		{"refused changes", refusedChanges},
		{"many writers", manyWriters},
		{"a stale index", staleIndex},
		{"an adopted database", adopted},
		{"a lost extractor", lostExtractor},
		{"a new extractor", newExtractor},
		{"a missing extractor", missingExtractor},
		{"the old answers meanwhile", oldAnswers},
		{"changes during a rebuild", changesDuringRebuild},
		{"a killed rebuild", killedRebuild},
		{"two servers", twoServers},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{T: t, handle: open(t), index: index}
			f.Store = f.handle()
			c.run(f)
		})
	}
}

const (
	agentKind     = resourcev1.ResourceKind_agent
	sessionKind   = resourcev1.ResourceKind_session
	executionKind = resourcev1.ResourceKind_agent_execution
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// fixture is a database with an index.
type fixture struct {
	*testing.T
	Store
	handle  func() Store
	index   func() search.Index
	created int // so that each resource has a moment of its own
}

// agents, sessions and turns are the extractors that most cases use.
func extractors() map[string]*search.Extractor {
	return map[string]*search.Extractor{
		"agent": search.Extract(1, func(a *agentv1.Agent) search.Content {
			return search.Content{Description: a.GetSpec().GetDescription(), Text: a.GetSpec().GetInstructions()}
		}),
		"session": search.Extract(1, func(s *sessionv1.Session) search.Content {
			return search.Content{Description: s.GetSpec().GetAgent(), Session: s.GetMetadata().GetId()}
		}),
		"agent_execution": search.ExtractTurn(1, func(x *agentexecutionv1.AgentExecution, t search.Turn) search.Content {
			return search.Content{Text: t.Input + "\n" + t.Answer, Session: x.GetSpec().GetSessionId()}
		}),
	}
}

var messages = map[string]func() proto.Message{
	"agent":           func() proto.Message { return &agentv1.Agent{} },
	"session":         func() proto.Message { return &sessionv1.Session{} },
	"agent_execution": func() proto.Message { return &agentexecutionv1.AgentExecution{} },
}

func registry(all map[string]*search.Extractor) *search.Registry {
	r := search.NewRegistry()
	for kind, e := range all {
		r.Add(context.Background(), slog.New(slog.DiscardHandler), kind, messages[kind], e)
	}
	return r
}

// server is an indexer and what searches by it.
type server struct {
	f *fixture
	*search.Finder
	*search.Indexer
}

// serve starts an indexer over a handle, and stops it at the test's end.
func (f *fixture) serve(db Store, all map[string]*search.Extractor, change ...func(*search.Options)) *server {
	f.Helper()
	o := search.Options{
		DB: db, Index: f.index(), Known: registry(all), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Gather: time.Millisecond, Poll: 20 * time.Millisecond, Linger: time.Millisecond,
	}
	for _, c := range change {
		c(&o)
	}
	i := search.NewIndexer(o)
	i.Start(f.Context())
	f.Cleanup(i.Stop)
	return &server{f, search.NewFinder(i), i}
}

// ready is a server whose index is filled.
func (f *fixture) ready() *server {
	f.Helper()
	s := f.serve(f.Store, extractors())
	s.await()
	return s
}

// await waits until the index is that of the extractors.
func (s *server) await() {
	s.f.Helper()
	select {
	case <-s.Filled():
	case <-time.After(time.Minute):
		s.f.Fatal("the index is not filled after a minute")
	}
}

func (s *server) find(c search.Criteria) search.Result {
	s.f.Helper()
	res, err := s.Finder.Search(s.f.Context(), c)
	if err != nil {
		s.f.Fatal(err)
	}
	return res
}

// ids finds and answers the slugs, or ids, in order.
func (s *server) ids(c search.Criteria) string {
	s.f.Helper()
	var all []string
	for _, h := range s.find(c).Hits {
		if h.Slug != "" {
			all = append(all, h.Slug)
		} else {
			all = append(all, h.ID)
		}
	}
	return strings.Join(all, " ")
}

// want compares what a query finds, in order.
func (s *server) want(query, ids string) {
	s.f.Helper()
	if got := s.ids(search.Criteria{Query: query}); got != ids {
		s.f.Errorf("%q found %q, want %q", query, got, ids)
	}
}

// wantAny compares without the order.
func (s *server) wantAny(c search.Criteria, ids string) {
	s.f.Helper()
	got, want := strings.Fields(s.ids(c)), strings.Fields(ids)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.f.Errorf("%+v found %q, want %q", c, got, want)
	}
}

// thing describes an agent.
type thing struct {
	org, slug, name, description, text string

	labels     map[string]string
	visibility resourcev1.Visibility
}

// row makes an agent's row.
func (f *fixture) row(d thing) store.Row {
	if d.org == "" {
		d.org = "default"
	}
	if d.visibility == 0 {
		d.visibility = resourcev1.Visibility_org
	}
	f.created++
	at := epoch.Add(time.Duration(f.created) * time.Second)
	m := &agentv1.Agent{
		Metadata: &resourcev1.Metadata{
			Id: id.New("agt"), Org: d.org, Slug: d.slug, Name: d.name, Visibility: d.visibility, Labels: d.labels,
			Audit: &resourcev1.Audit{Created: &resourcev1.AuditEntry{At: timestamppb.New(at)}},
		},
		Spec: &agentv1.AgentSpec{Description: d.description, Instructions: d.text},
	}
	return rowOf(agentKind, m)
}

func rowOf(k resource.Kind, m proto.Message) store.Row {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	md := resource.Metadata(m)
	at := md.GetAudit().GetCreated().GetAt().AsTime()
	return store.Row{
		Kind: k, ID: md.GetId(), Org: md.GetOrg(), Slug: md.GetSlug(), Name: md.GetName(), Visibility: md.GetVisibility().String(), Version: 1,
		CreatedAt: at, UpdatedAt: at, Labels: map[string]string{}, Data: data,
	}
}

// add stores agents.
func (f *fixture) add(all ...thing) []store.Row {
	f.Helper()
	rows := make([]store.Row, len(all))
	for i, d := range all {
		rows[i] = f.row(d)
		f.must(f.Create(f.Context(), rows[i], nil))
	}
	return rows
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// forget takes away all marks of changes, as if the rows had been there before the index.
func (f *fixture) forget() {
	f.Helper()
	f.exec("DELETE FROM search_dirty")
}

// together runs functions at the same time.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}
