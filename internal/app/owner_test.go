package app

import (
	"context"
	"slices"
	"sync"
	"testing"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/identity/operator"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// facts notes which facts of the database are read and written.
type facts struct {
	store.Store
	mu          sync.Mutex
	read, wrote []string
}

func (f *facts) BootState(ctx context.Context, key string) (string, error) {
	f.note(&f.read, key)
	return f.Store.BootState(ctx, key)
}

func (f *facts) SetBootState(ctx context.Context, key, value string) error {
	f.note(&f.wrote, key)
	return f.Store.SetBootState(ctx, key, value)
}

func (f *facts) InitBootState(ctx context.Context, key, value string) (string, error) {
	f.note(&f.read, key)
	return f.Store.InitBootState(ctx, key, value)
}

func (f *facts) note(list *[]string, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, key)
}

// booted starts a server in a folder without having it listen, runs look, and ends it.
// before is run on the store before anything reads it.
func booted(t *testing.T, dir string, before, look func(*App, *facts)) {
	t.Helper()
	a := &App{opt: Options{DataDir: dir, Engine: "memory", Version: "test"}, boot: "boot_test"}
	defer a.close()
	watch := func(context.Context) error {
		f := &facts{Store: a.store}
		before(a, f)
		a.store = f
		return nil
	}
	for _, step := range []func(context.Context) error{a.openFolder, a.openProcesses, a.openStore, a.openSearch, watch, a.openEngine, a.assemble, a.firstStart} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look(a, a.store.(*facts))
}

func nothing(*App, *facts) {}

// may says whether the operator may change things in the organization `default`.
func may(t *testing.T, a *App) bool {
	t.Helper()
	return a.deps.Authz.Check(t.Context(), authz.Question{
		Caller: identity.Caller{ID: operator.ID, Class: identity.User}, Permission: "create", Kind: resourcev1.ResourceKind_agent, Org: resource.DefaultOrg,
	}) == authz.Allow
}

// C113: the organization `default` is given to its owner once in a database's life.
func TestTheDefaultOrganizationIsGivenAwayOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, boot := range []string{"first", "second"} {
		booted(t, dir, nothing, func(a *App, _ *facts) {
			if v, err := a.store.BootState(t.Context(), ownerKey); v != operator.ID || err != nil || !may(t, a) {
				t.Errorf("after the %s boot the owner is %q (%v), who may act: %v", boot, v, err, may(t, a))
			}
		})
	}
	booted(t, dir, func(_ *App, f *facts) { // somebody else owns it since
		if err := f.SetBootState(t.Context(), ownerKey, "ida_other"); err != nil {
			t.Error(err)
		}
	}, nothing)
	booted(t, dir, nothing, func(a *App, _ *facts) {
		if v, err := a.store.BootState(t.Context(), ownerKey); v != "ida_other" || err != nil || may(t, a) {
			t.Errorf("a boot gave the organization to %q again (%v)", v, err)
		}
	})
}

// C113: a marker that is there before the first boot is believed.
func TestAMarkerThatIsThereIsBelieved(t *testing.T) {
	t.Parallel()
	booted(t, t.TempDir(), func(_ *App, f *facts) {
		if err := f.SetBootState(t.Context(), ownerKey, "ida_other"); err != nil {
			t.Error(err)
		}
	}, func(a *App, _ *facts) {
		if may(t, a) {
			t.Error("the operator was made the owner although the marker was set")
		}
	})
}

// C112, C114: a fact that was never set is "", and those that an earlier generation left
// are neither read nor changed.
func TestFactsOfAnEarlierGenerationAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := []string{"agent:x", "skill:x", "bootstrap_status", "seedpack_version"}
	booted(t, dir, func(a *App, _ *facts) {
		for _, key := range left {
			if v, err := a.store.BootState(t.Context(), key); v != "" || err != nil {
				t.Errorf("the key %s that was never set is %q, %v", key, v, err)
			}
			if err := a.store.SetBootState(t.Context(), key, "left by "+key); err != nil {
				t.Error(err)
			}
		}
	}, nothing)
	booted(t, dir, nothing, func(a *App, f *facts) {
		touched := slices.Concat(f.read, f.wrote)
		if !slices.Contains(touched, ownerKey) {
			t.Fatalf("the boot was seen to touch %v only", touched)
		}
		for _, key := range left {
			if slices.Contains(touched, key) {
				t.Errorf("the boot touched %s", key)
			}
			if v, err := f.Store.BootState(t.Context(), key); v != "left by "+key || err != nil {
				t.Errorf("after a boot the key %s is %q, %v", key, v, err)
			}
		}
	})
}
