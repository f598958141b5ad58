package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

func resources(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	one := row("one", "bytes that \x00 are no message \xff")
	s.must(s.Create(ctx, one, nil))

	got, err := s.Get(ctx, agentKind, one.ID)
	s.must(err)
	if !bytes.Equal(got.Data, one.Data) || !got.CreatedAt.Equal(one.CreatedAt) || got.Slug != "one" || got.Version != 1 {
		t.Errorf("read %+v, want what was stored: %+v", got, one)
	}
	bySlug, err := s.Lookup(ctx, agentKind, "default", "one")
	s.must(err)
	if bySlug.ID != one.ID {
		t.Errorf("the slug leads to %s, want %s", bySlug.ID, one.ID)
	}

	twin := row("one", "x")
	if err := s.Create(ctx, twin, nil); !errors.Is(err, store.ErrExists) {
		t.Errorf("a taken slug gave %v, want AlreadyExists", err)
	}
	twin.Org = "other"
	s.must(s.Create(ctx, twin, nil)) // a slug is unique in its organization only

	for what, err := range map[string]error{
		"get":    second(s.Get(ctx, agentKind, "agt_none")),
		"lookup": second(s.Lookup(ctx, agentKind, "default", "none")),
		"delete": second(s.Delete(ctx, agentKind, "agt_none", nil, nil)),
		"update": second(s.Update(ctx, agentKind, "agt_none", nil, func(r store.Row) (store.Row, error) { return r, nil })),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of an absent row gave %v, want NotFound", what, err)
		}
	}

	upserted := one
	upserted.Data, upserted.Version = []byte("second"), 2
	s.must(s.Save(ctx, upserted))
	if got, _ := s.Get(ctx, agentKind, one.ID); string(got.Data) != "second" || got.Version != 2 {
		t.Errorf("after an upsert the row is %+v", got)
	}
	t.Run("update", func(t *testing.T) { updates(t, open) })

	if _, err := s.Delete(ctx, agentKind, one.ID, nil, func(store.Row) error { return errors.New("no") }); err == nil {
		t.Error("a refused delete went through")
	}
	_, err = s.Delete(ctx, agentKind, one.ID, nil, nil)
	s.must(err)
	if _, err := s.Get(ctx, agentKind, one.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a deleted row gave %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// C108, C109, C110
func updates(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	const writers, each = 16, 10
	counter := row("counter", "0")
	s.must(s.Create(ctx, counter, nil))
	// C109: rows are independent; each is atomic by itself and nothing is promised about both.
	other := row("other", "0")
	s.must(s.Create(ctx, other, nil))

	add := func(r store.Row) (store.Row, error) {
		n, err := strconv.Atoi(string(r.Data))
		r.Data = []byte(strconv.Itoa(n + 1))
		return r, err
	}
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				if _, err := s.Update(ctx, agentKind, counter.ID, nil, add); err != nil {
					t.Error(err)
				}
				if _, err := s.Update(ctx, agentKind, other.ID, nil, add); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, id := range []string{counter.ID, other.ID} { // C108: no update is lost
		got, err := s.Get(ctx, agentKind, id)
		s.must(err)
		if string(got.Data) != strconv.Itoa(writers*each) {
			t.Errorf("after %d updates the counter is %s", writers*each, got.Data)
		}
	}

	refusal := fault.New(fault.Aborted, "REFUSED", "refused")
	_, err := s.Update(ctx, agentKind, counter.ID, nil, func(r store.Row) (store.Row, error) {
		r.Data = []byte("changed")
		return r, refusal
	})
	if !errors.Is(err, refusal) { // C110
		t.Errorf("a refusing change gave %v, want its own error", err)
	}
	_, err = s.Update(ctx, agentKind, counter.ID, nil, func(store.Row) (store.Row, error) { panic("a faulty change") })
	if fault.CodeOf(err) != fault.Internal {
		t.Errorf("a panicking change gave %v, want Internal", err)
	}
	if got, _ := s.Get(ctx, agentKind, counter.ID); string(got.Data) != strconv.Itoa(writers*each) {
		t.Errorf("a failed change wrote %q", got.Data)
	}
}

func lists(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	for i := range 25 {
		r := row(fmt.Sprintf("a%02d", i), "x")
		r.CreatedAt = epoch.AddDate(0, 0, i/2) // pairs with the same time
		r.Labels = map[string]string{"team": []string{"core", "edge"}[i%2], "it's": "quoted"}
		r.Index = [4]string{fmt.Sprint(i % 3)}
		s.must(s.Create(ctx, r, nil))
	}
	foreign := row("a00", "x")
	foreign.Org = "other"
	s.must(s.Create(ctx, foreign, nil))

	created := store.Column{Name: "created_at"}
	name := store.Column{Name: "name"}
	for _, c := range []struct {
		what  string
		where []store.Condition
		order []store.Order
		want  int
		first string
	}{
		{"all, newest first", nil, []store.Order{{Column: created, Desc: true}}, 25, "a24"},
		{"by name", nil, []store.Order{{Column: name}}, 25, "a00"},
		{"mixed directions", nil, []store.Order{{Column: created}, {Column: name, Desc: true}}, 25, "a01"},
		{"a label", []store.Condition{{Column: store.Column{Name: "label", Label: "team"}, Op: store.Eq, Value: "core"}}, []store.Order{{Column: name}}, 13, "a00"},
		{"a label with a quote", []store.Condition{{Column: store.Column{Name: "label", Label: "it's"}, Op: store.Eq, Value: "quoted"}}, []store.Order{{Column: name}}, 25, "a00"},
		{"no such label", []store.Condition{{Column: store.Column{Name: "label", Label: "x' OR '1"}, Op: store.Ne, Value: ""}}, []store.Order{{Column: name}}, 0, ""},
		{"an indexed field", []store.Condition{{Column: store.Column{Name: "index", Index: 0}, Op: store.Eq, Value: "2"}}, []store.Order{{Column: name}}, 8, "a02"},
		{"a range", []store.Condition{{Column: name, Op: store.Ge, Value: "a20"}}, []store.Order{{Column: name, Desc: true}}, 5, "a24"},
		{"a part", []store.Condition{{Column: name, Op: store.Contains, Value: "1"}}, []store.Order{{Column: name}}, 12, "a01"},
		{"version as a number", []store.Condition{{Column: store.Column{Name: "version"}, Op: store.Lt, Value: "10"}}, []store.Order{{Column: store.Column{Name: "version"}}}, 25, ""},
	} {
		got := collect(t, s, store.Query{Kind: agentKind, Org: "default", Where: c.where, Order: c.order, Limit: 4})
		if len(got) != c.want || c.first != "" && got[0] != c.first {
			t.Errorf("%s: %v, want %d beginning with %q", c.what, got, c.want, c.first)
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(got))); len(sorted) != len(got) {
			t.Errorf("%s: pages repeat rows: %v", c.what, got)
		}
	}
	if got := collect(t, s, store.Query{Kind: agentKind, Limit: 100}); len(got) != 26 {
		t.Errorf("without an organization there are %d rows, want 26", len(got))
	}
	if _, err := s.List(ctx, store.Query{Kind: agentKind, Limit: 1, Order: []store.Order{{Column: store.Column{Name: "data; DROP"}}}}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("an unknown column gave %v", err)
	}
	slugs, err := s.Slugs(ctx, agentKind, "default", "a22", 10)
	s.must(err)
	if !slices.Equal(slugs, []string{"a23", "a24"}) {
		t.Errorf("slugs after a22 are %v", slugs)
	}
}

// collect reads every page.
func collect(t *testing.T, s store.Store, q store.Query) []string {
	t.Helper()
	var all []string
	for {
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) > q.Limit {
			t.Fatalf("a page of %d rows for a limit of %d", len(page.Rows), q.Limit)
		}
		for _, r := range page.Rows {
			all = append(all, r.Slug)
		}
		if page.Next == nil {
			return all
		}
		q.After = page.Next
	}
}

func idempotency(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	once := func(digest string) *store.Once {
		return &store.Once{Scope: "scope", Digest: digest, Now: epoch, Answer: func() []byte { return []byte("answer " + digest) }}
	}
	var all sync.WaitGroup
	made := make(chan string, 100)
	for i := range 100 {
		all.Go(func() {
			err := s.Create(ctx, row(fmt.Sprintf("r%d", i), "x"), once("d1"))
			var replay *store.Replayed
			switch {
			case err == nil:
				made <- "made"
			case !errors.As(err, &replay) || string(replay.Answer) != "answer d1":
				t.Errorf("a repeated call gave %v", err)
			}
		})
	}
	all.Wait()
	if len(made) != 1 {
		t.Errorf("%d of 100 parallel calls with one key were made, want 1", len(made))
	}
	err := s.Create(ctx, row("other", "x"), once("d2"))
	if f := fault.From(err); !errors.Is(err, store.ErrOtherBody) || f.Meta["first_digest"] != "d1" || f.Meta["digest"] != "d2" {
		t.Errorf("the key with another body gave %v, want both digests", err)
	}
	answer, found, err := s.Recall(ctx, once("d1"))
	if err != nil || !found || string(answer) != "answer d1" {
		t.Errorf("recall gave %q, %v, %v", answer, found, err)
	}
	later := once("d2")
	later.Now = epoch.Add(store.OnceKept + 1e9)
	s.must(s.Create(ctx, row("later", "x"), later)) // after seven days the key is free

	refused := once("d3")
	refused.Scope = "refused"
	if _, err := s.Delete(ctx, agentKind, "agt_none", refused, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, found, _ := s.Recall(ctx, refused); found {
		t.Error("a call that failed keeps its key")
	}
}

// C112
func bootState(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	if v, err := s.BootState(ctx, "never"); v != "" || err != nil {
		t.Errorf("a key that was never written gave %q, %v", v, err)
	}
	s.must(s.SetBootState(ctx, "k", "1"))
	s.must(s.SetBootState(ctx, "k", "2"))
	if v, err := s.BootState(ctx, "k"); v != "2" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	s.must(s.SetEngineID(ctx, "eng"))
	if v, err := s.EngineID(ctx); v != "eng" || err != nil {
		t.Errorf("the engine is %q, %v", v, err)
	}
}
