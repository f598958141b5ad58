package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/store"
)

func version(resource, data string) store.Version {
	return store.Version{Kind: agentKind, ID: resource, Data: []byte(data), At: epoch}
}

// versions: entries by hash, number and tag, the newest first; the bytes are exact.
func versions(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	agent, other := id.New("agt"), id.New("agt")
	if hash, err := s.LatestVersion(ctx, agentKind, agent); hash != "" || err != nil {
		t.Errorf("without a history the latest is %q, %v", hash, err)
	}
	var hashes []string
	for i, data := range []string{"one \x00 \xff", "two", "one \x00 \xff"} { // the same bytes again are an entry of their own
		v, err := s.SaveVersion(ctx, version(agent, data))
		s.must(err)
		if v.Number != int64(i)+1 || v.Hash != store.VersionHash([]byte(data)) {
			t.Errorf("entry %d is %+v", i+1, v)
		}
		hashes = append(hashes, v.Hash)
	}
	s.must(second(s.SaveVersion(ctx, version(other, "elsewhere"))))
	late := version(agent, "late")
	late.Number = 3
	if err := second(s.SaveVersion(ctx, late)); !errors.Is(err, store.ErrVersionExists) {
		t.Errorf("a number that is taken gave %v", err)
	}
	late.Number = 7
	s.must(second(s.SaveVersion(ctx, late)))

	got, err := s.VersionByHash(ctx, agentKind, agent, hashes[0])
	s.must(err)
	if got.Number != 3 || !bytes.Equal(got.Data, []byte("one \x00 \xff")) || !got.At.Equal(epoch) || got.ID != agent || got.Kind != agentKind {
		t.Errorf("by hash: %+v, want the newest with these bytes", got)
	}
	if v, err := s.VersionByNumber(ctx, agentKind, agent, 2); err != nil || string(v.Data) != "two" {
		t.Errorf("by number: %+v, %v", v, err)
	}
	if n, err := s.CountVersions(ctx, agentKind, agent); n != 4 || err != nil {
		t.Errorf("there are %d entries (%v), want 4", n, err)
	}
	if hash, err := s.LatestVersion(ctx, agentKind, agent); hash != store.VersionHash([]byte("late")) || err != nil {
		t.Errorf("the latest is %s, %v", hash, err)
	}
	s.numbers(agent, 0, 10, 7, 3, 2, 1)
	s.numbers(agent, 0, 2, 7, 3)
	s.numbers(agent, 3, 10, 2, 1)
	if _, err := s.ListVersions(ctx, agentKind, agent, 0, 0); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("without a limit: %v", err)
	}
	for what, err := range map[string]error{
		"hash": second(s.VersionByHash(ctx, agentKind, agent, "none")), "tag": second(s.VersionByTag(ctx, agentKind, agent, "none")),
		"number": second(s.VersionByNumber(ctx, agentKind, agent, 99)),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an absent %s gave %v, want NotFound", what, err)
		}
	}
	tags(t, s, agent, hashes)
	if n, err := s.DeleteVersions(ctx, agentKind, agent); n != 4 || err != nil {
		t.Errorf("the deletion counts %d (%v), want 4", n, err)
	}
	s.numbers(agent, 0, 10)
	if err := second(s.VersionByTag(ctx, agentKind, agent, "stable")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a tag outlived its history: %v", err)
	}
	s.numbers(other, 0, 10, 1)
}

// numbers checks which entries a list answers.
func (f *fixture) numbers(resource string, before int64, limit int, want ...int64) {
	f.t.Helper()
	list, err := f.ListVersions(f.t.Context(), agentKind, resource, before, limit)
	f.must(err)
	var got []int64
	for _, v := range list {
		got = append(got, v.Number)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("the versions below %d, at most %d, are %v, want %v", before, limit, got, want)
	}
}

// tags: a tag has one holder, moves at once, and stays when its target is missing.
func tags(t *testing.T, s *fixture, agent string, hashes []string) {
	t.Helper()
	ctx := t.Context()
	s.must(s.TagVersion(ctx, agentKind, agent, hashes[1], "stable"))
	s.must(s.TagVersion(ctx, agentKind, agent, hashes[1], "beta"))
	if err := s.TagVersion(ctx, agentKind, agent, "none", "stable"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a tag on nothing gave %v", err)
	}
	v, err := s.VersionByTag(ctx, agentKind, agent, "stable")
	s.must(err)
	if v.Number != 2 || !slices.Equal(v.Tags, []string{"beta", "stable"}) {
		t.Errorf("after a move to nothing the holder is %+v, want the one before", v)
	}
	s.must(s.TagVersion(ctx, agentKind, agent, hashes[0], "stable"))
	if v, err := s.VersionByTag(ctx, agentKind, agent, "stable"); err != nil || v.Number != 3 {
		t.Errorf("the moved tag is held by %+v, %v", v, err)
	}
	if v, err := s.VersionByNumber(ctx, agentKind, agent, 2); err != nil || !slices.Equal(v.Tags, []string{"beta"}) {
		t.Errorf("the holder before has the tags %v, %v", v.Tags, err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := s.TagVersion(ctx, agentKind, agent, hashes[i%2], "moving"); err != nil {
				t.Error(err)
			}
			if v, err := s.VersionByTag(ctx, agentKind, agent, "moving"); err != nil || v.Number != 2 && v.Number != 3 {
				t.Errorf("while it moves the tag is held by %+v, %v", v, err)
			}
		})
	}
	all.Wait()
	list, err := s.ListVersions(ctx, agentKind, agent, 0, 10)
	s.must(err)
	holders := 0
	for _, v := range list {
		if slices.Contains(v.Tags, "moving") {
			holders++
		}
	}
	if holders != 1 {
		t.Errorf("%d entries hold the tag, want 1", holders)
	}
}

// keptVersions: a change that raises the version of a row of a versioned kind is
// kept in the change's own transaction.
func keptVersions(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	one := row("one", "v1")
	s.must(s.Create(ctx, one, nil))
	change := func(data string, raise int64, refuse error) error {
		return second(s.Update(ctx, agentKind, one.ID, nil, func(r store.Row) (store.Row, error) {
			r.Data, r.Version = []byte(data), r.Version+raise
			return r, refuse
		}))
	}
	s.must(change("v2", 1, nil))
	s.must(change("v2 with a new status", 0, nil))
	if change("never", 1, errors.New("refused")) == nil {
		t.Error("a refused change went through")
	}
	three := one
	three.Version, three.Data = 3, []byte("v3")
	s.must(s.Save(ctx, three))
	s.numbers(one.ID, 0, 10, 3, 2, 1)
	for number, want := range []string{1: "v1", 2: "v2", 3: "v3"} {
		if number == 0 {
			continue
		}
		if v, err := s.VersionByNumber(ctx, agentKind, one.ID, int64(number)); err != nil || string(v.Data) != want {
			t.Errorf("version %d is %q, %v", number, v.Data, err)
		}
	}
	twin := row("one", "x")
	if err := s.Create(ctx, twin, nil); !errors.Is(err, store.ErrExists) {
		t.Errorf("got %v", err)
	}
	s.numbers(twin.ID, 0, 10)

	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if err := change(fmt.Sprintf("w%d", i), 1, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, err := s.CountVersions(ctx, agentKind, one.ID); n != 13 || err != nil {
		t.Errorf("after ten changes at once there are %d versions (%v), want 13", n, err)
	}
	latest, err := s.LatestVersion(ctx, agentKind, one.ID)
	s.must(err)
	now, err := s.Get(ctx, agentKind, one.ID)
	s.must(err)
	if latest != store.VersionHash(now.Data) {
		t.Errorf("the newest version is not what is stored")
	}
	s.must(second(s.DeleteVersions(ctx, agentKind, one.ID))) // as of a row that is older than the table
	s.must(change("next", 1, nil))
	s.numbers(one.ID, 0, 10, 14, 13)
	if v, err := s.VersionByNumber(ctx, agentKind, one.ID, 13); err != nil || !bytes.Equal(v.Data, now.Data) {
		t.Errorf("the version before is %q, %v", v.Data, err)
	}
	_, err = s.Delete(ctx, agentKind, one.ID, nil, nil)
	s.must(err)
	s.numbers(one.ID, 0, 10)

	unversioned := row("session", "v1")
	unversioned.Kind = sessionKind
	s.must(s.Create(ctx, unversioned, nil))
	if n, err := s.CountVersions(ctx, sessionKind, unversioned.ID); n != 0 || err != nil {
		t.Errorf("a kind without history has %d versions (%v)", n, err)
	}
}
