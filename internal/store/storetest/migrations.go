package storetest

import (
	"fmt"
	"slices"
	"testing"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// Old is a database whose chain of migrations stopped somewhere.
type Old struct {
	// Exec runs a statement in it; parameters are `?`.
	Exec func(t *testing.T, q string, args ...any)
	// Count reads one number.
	Count func(t *testing.T, q string) int
	// Open opens it, which brings it up to date.
	Open func(t *testing.T) store.Store
}

// Resumes stops a database at each version of a chain, fills it, and opens it: the
// chain goes on from there, and no row is lost but those of the retired kind. history is
// the first version that has the table of versions, retired the step that removes the
// kind. C114, C121
func Resumes(t *testing.T, steps []store.Step, history, retired int64, at func(t *testing.T, version int64) Old) {
	for _, step := range steps {
		t.Run(fmt.Sprintf("v%d", step.Version), func(t *testing.T) {
			t.Parallel()
			old := at(t, step.Version)
			fill(t, old, step.Version >= history)
			s := old.Open(t)
			kept(t, s, step.Version >= history)
			if step.Version < retired {
				gone(t, old)
			}
			if err := s.Create(t.Context(), row("new", "x"), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// legacy are keys that an earlier generation left in the boot state.
var legacy = map[string]string{"agent:x": "1", "skill:x": "2", "bootstrap_status": "done", "seedpack_version": "9"}

// fill writes rows of several kinds, the retired one among them, by hand.
func fill(t *testing.T, old Old, history bool) {
	t.Helper()
	for _, r := range [][2]string{{"project", "prj_t41"}, {"organization", "harbor"}, {"agent", "agt_1"}, {"session", "ses_1"}} {
		old.Exec(t, `INSERT INTO resources (kind, id, org, slug, name, visibility, version, created_at, updated_at, i1, i2, i3, i4, data)
			VALUES (?, ?, 'harbor', '', 'n', 'org', 1, '2026-01-02T03:04:05.000000006Z', '2026-01-02T03:04:05.000000006Z', '', '', '', '', ?)`, r[0], r[1], []byte("bytes of \x00 "+r[1]))
		old.Exec(t, "INSERT INTO resource_labels (kind, id, key, value) VALUES (?, ?, 'team', 'core')", r[0], r[1])
		if history {
			old.Exec(t, "INSERT INTO version_history (kind, resource_id, number, hash, data, created_at) VALUES (?, ?, 1, 'h1', ?, '')", r[0], r[1], []byte("v1"))
			old.Exec(t, "INSERT INTO version_tags (kind, resource_id, tag, number) VALUES (?, ?, 'stable', 1)", r[0], r[1])
		}
	}
	for key, value := range legacy {
		old.Exec(t, "INSERT INTO boot_state (key, value) VALUES (?, ?)", key, value)
	}
}

// kept checks what a migration must not touch.
func kept(t *testing.T, s store.Store, history bool) {
	t.Helper()
	ctx := t.Context()
	for kind, id := range map[resourcev1.ResourceKind]string{resourcev1.ResourceKind_organization: "harbor", agentKind: "agt_1", sessionKind: "ses_1"} {
		r, err := s.Get(ctx, kind, id)
		if err != nil || string(r.Data) != "bytes of \x00 "+id || !r.CreatedAt.Equal(epoch) {
			t.Errorf("%s is %+v, %v", id, r, err)
		}
		labelled, err := s.FindByLabel(ctx, kind, "team", "core", store.Span{Limit: 10})
		if err != nil || len(labelled) != 1 {
			t.Errorf("%d rows of %s have the label (%v)", len(labelled), kind, err)
		}
		if !history {
			continue
		}
		if v, err := s.VersionByTag(ctx, kind, id, "stable"); err != nil || string(v.Data) != "v1" || !slices.Equal(v.Tags, []string{"stable"}) {
			t.Errorf("the version of %s is %+v, %v", id, v, err)
		}
	}
	for key, want := range legacy { // C114
		if v, err := s.BootState(ctx, key); v != want || err != nil {
			t.Errorf("the key %s is %q (%v), want it as it was", key, v, err)
		}
	}
}

// gone checks that nothing is left of the retired kind.
func gone(t *testing.T, old Old) {
	t.Helper()
	for _, table := range []string{"resources", "resource_labels", "version_history", "version_tags"} {
		if n := old.Count(t, "SELECT count(*) FROM "+table+" WHERE kind = 'project'"); n != 0 {
			t.Errorf("%d rows of the retired kind are left in %s", n, table)
		}
	}
}
