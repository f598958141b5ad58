package storetest

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// grants are kept by (identity, resource, organization); what they hold is opaque.
func grants(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	key := store.GrantKey{Identity: "ida_1", Resource: "mcp_1", Org: "default"}
	if _, err := s.Grant(ctx, key); !errors.Is(err, store.ErrNoGrant) {
		t.Errorf("what was never granted gave %v", err)
	}
	g := store.Grant{GrantKey: key, Sealed: []byte("sealed \x00 \xff"), ExpiresAt: epoch.Add(time.Hour), UpdatedAt: epoch}
	s.must(s.PutGrant(ctx, g))
	for _, k := range []store.GrantKey{
		{Identity: "ida_2", Resource: "mcp_1", Org: "default"}, {Identity: "ida_1", Resource: "mcp_2", Org: "default"}, {Identity: "ida_1", Resource: "mcp_1", Org: "other"},
	} {
		s.must(s.PutGrant(ctx, store.Grant{GrantKey: k, Sealed: []byte(k.Identity + k.Resource + k.Org)}))
	}
	got, err := s.Grant(ctx, key)
	s.must(err)
	if !bytes.Equal(got.Sealed, g.Sealed) || !got.ExpiresAt.Equal(g.ExpiresAt) || !got.UpdatedAt.Equal(epoch) || got.GrantKey != key {
		t.Errorf("the grant is %+v, want %+v", got, g)
	}
	g.Sealed, g.ExpiresAt = []byte("anew"), time.Time{}
	s.must(s.PutGrant(ctx, g))
	if got, err := s.Grant(ctx, key); err != nil || string(got.Sealed) != "anew" || !got.ExpiresAt.IsZero() {
		t.Errorf("the replaced grant is %+v, %v", got, err)
	}
	for _, want := range []int64{2, 0} {
		n, err := s.DeleteGrantsOf(ctx, "mcp_1", "default")
		s.must(err)
		if n != want {
			t.Errorf("%d grants for the resource were deleted, want %d", n, want)
		}
	}
	s.must(s.DeleteGrant(ctx, key)) // gone already
	other := store.GrantKey{Identity: "ida_1", Resource: "mcp_1", Org: "other"}
	if got, err := s.Grant(ctx, other); err != nil || string(got.Sealed) != "ida_1mcp_1other" {
		t.Errorf("the grant of another organization is %+v, %v", got, err)
	}
	s.must(s.DeleteGrant(ctx, other))
	if _, err := s.Grant(ctx, other); !errors.Is(err, store.ErrNoGrant) {
		t.Errorf("a deleted grant gave %v", err)
	}
}

// pendingAuthorizations are kept for 10 minutes and taken once.
func pendingAuthorizations(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	none := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNoPendingAuthorization) {
			t.Errorf("%s gave %v", what, err)
		}
	}
	s.must(s.PutPendingAuthorization(ctx, "s1", []byte("verifier \x00"), epoch))
	if err := s.PutPendingAuthorization(ctx, "s1", nil, epoch.Add(time.Minute)); !errors.Is(err, store.ErrStateTaken) {
		t.Errorf("a state that is pending gave %v", err)
	}
	got, err := s.TakePendingAuthorization(ctx, "s1", epoch.Add(10*time.Minute-time.Nanosecond))
	s.must(err)
	if string(got) != "verifier \x00" {
		t.Errorf("what was kept is %q", got)
	}
	none("the second use", second(s.TakePendingAuthorization(ctx, "s1", epoch)))
	none("what never was", second(s.TakePendingAuthorization(ctx, "s0", epoch)))

	s.must(s.PutPendingAuthorization(ctx, "s2", nil, epoch))
	none("a use after 10 minutes", second(s.TakePendingAuthorization(ctx, "s2", epoch.Add(10*time.Minute))))
	none("an earlier use after that", second(s.TakePendingAuthorization(ctx, "s2", epoch)))
	s.must(s.PutPendingAuthorization(ctx, "s3", nil, epoch))
	s.must(s.PutPendingAuthorization(ctx, "s3", []byte("new"), epoch.Add(10*time.Minute))) // the expired one is forgotten

	var all sync.WaitGroup
	taken := make(chan []byte, 20)
	for range 20 {
		all.Go(func() {
			got, err := s.TakePendingAuthorization(ctx, "s3", epoch.Add(11*time.Minute))
			switch {
			case err == nil:
				taken <- got
			case !errors.Is(err, store.ErrNoPendingAuthorization):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(taken) != 1 || string(<-taken) != "new" {
		t.Errorf("%d of 20 uses at once succeeded, want 1", len(taken))
	}
}
