package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// Steps of the chain that tests name.
const (
	history = 4 // makes the tables of versions, leases and others
	retired = 5 // removes the kind project
)

// stopped is a database of an empty folder whose chain stopped at a version.
func stopped(t *testing.T, version int64) (dir string, old storetest.Old) {
	t.Helper()
	dir = t.TempDir()
	if err := sqlite.MigrateTo(t.Context(), dir, version); err != nil {
		t.Fatal(err)
	}
	return dir, storetest.Old{
		Exec: func(t *testing.T, q string, args ...any) {
			t.Helper()
			db, err := sqlite.Raw(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec(q, args...); err != nil {
				t.Fatal(err)
			}
		},
		Count: func(t *testing.T, q string) (n int) {
			t.Helper()
			db, err := sqlite.Raw(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := db.QueryRow(q).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
		Open: func(t *testing.T) store.Store {
			t.Helper()
			s, err := sqlite.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	}
}

// C114, C121: a database that stopped at any version goes on from there; the rows of
// the kind project go and all others stay.
func TestADatabaseAtAnyVersionResumes(t *testing.T) {
	t.Parallel()
	steps, err := sqlite.Chain()
	if err != nil {
		t.Fatal(err)
	}
	storetest.Resumes(t, steps, history, retired, func(t *testing.T, version int64) storetest.Old {
		_, old := stopped(t, version)
		return old
	})
}

func TestAFailingStepNamesItsVersionAndWritesNothing(t *testing.T) {
	t.Parallel()
	dir, old := stopped(t, history-1)
	before := old.Count(t, "SELECT max(version_id) FROM schema_version")
	old.Exec(t, "CREATE TABLE leases (other TEXT)") // in the way of the last statement of the step
	_, err := sqlite.Open(t.Context(), dir)
	f := fault.From(err)
	if f.Reason != "MIGRATION_FAILED" || !strings.Contains(f.Message, fmt.Sprintf("migrate to v%d: ", history)) || f.Meta["version"] != fmt.Sprint(history) {
		t.Errorf("a failing step gave %v", err)
	}
	if n := old.Count(t, "SELECT max(version_id) FROM schema_version"); n != before {
		t.Errorf("after the failure the schema is at v%d, want v%d", n, before)
	}
	if n := old.Count(t, "SELECT count(*) FROM sqlite_master WHERE name = 'version_history'"); n != 0 {
		t.Error("the failed step left a table")
	}
	old.Exec(t, "DROP TABLE leases")
	old.Open(t)
}

func TestWhatIsPendingIsTold(t *testing.T) {
	t.Parallel()
	steps, err := sqlite.Chain()
	if err != nil {
		t.Fatal(err)
	}
	newest := steps[len(steps)-1]
	dir, old := stopped(t, retired-1)
	found, err := sqlite.Inspect(t.Context(), dir)
	if err != nil || found.Schema != retired-1 || found.Release != newest.Version || len(found.Pending) == 0 || found.Pending[0] != (store.Step{Version: retired, Name: "project"}) {
		t.Errorf("the inspection finds %+v, %v", found, err)
	}
	if err := old.Open(t).Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := sqlite.Inspect(t.Context(), dir); err != nil || len(found.Pending) != 0 || found.Schema != newest.Version {
		t.Errorf("after an open the inspection finds %+v, %v", found, err)
	}
	if found, err := sqlite.Inspect(t.Context(), t.TempDir()); err != nil || found.Exists || len(found.Pending) != len(steps) {
		t.Errorf("of no database the inspection tells %+v, %v", found, err)
	}
}

// Sweeps follow their index.
func TestSweepsAndLookupsUseTheirIndex(t *testing.T) {
	t.Parallel()
	steps, err := sqlite.Chain()
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := stopped(t, steps[len(steps)-1].Version)
	db, err := sqlite.Raw(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for q, index := range map[string]string{
		"SELECT execution, seq FROM workflow_execution_events WHERE created_at < 'x' ORDER BY created_at LIMIT 5":                                        "idx_wfee_created_at",
		"DELETE FROM oauth_grant WHERE resource_id = 'x' AND org_id = 'y'":                                                                               "idx_oauth_grant_resource",
		"SELECT l.id FROM resource_labels l WHERE l.kind = 'a' AND l.key = 'k' AND l.value = 'v' AND l.id > 'x' ORDER BY l.id LIMIT 5":                   "resource_labels_value",
		"SELECT sum(cost) FROM dispatches WHERE agent = 'x' AND at >= 'y'":                                                                               "dispatches_agent",
		"SELECT sum(cost) FROM dispatches WHERE member = 'x' AND at >= 'y' AND member <> ''":                                                             "dispatches_member",
		"SELECT sum(cost) FROM dispatches WHERE state = 'dispatched' AND org = 'x' AND agent = 'y'":                                                      "dispatches_open",
		"SELECT sum(cost) FROM dispatches WHERE state = 'dispatched' AND org = 'x' AND org = 'x'":                                                        "dispatches_open",
		"SELECT told FROM budgets WHERE (scope = 'agent' AND scope_id = 'x') OR (scope = 'session' AND scope_id = 'y') ORDER BY scope, scope_id, period": "MULTI-INDEX OR",
	} {
		var id, parent, unused int
		var plan string
		if err := db.QueryRow("EXPLAIN QUERY PLAN "+q).Scan(&id, &parent, &unused, &plan); err != nil || !strings.Contains(plan, index) {
			t.Errorf("%s: %q (%v), want the index %s", q, plan, err, index)
		}
	}
}

// The step that sets the texts of the search index apart loses none of it, so that nothing
// has to be filled anew.
func TestTheSearchIndexKeepsItsTexts(t *testing.T) {
	t.Parallel()
	_, old := stopped(t, 9)
	old.Exec(t, `INSERT INTO search_documents_b (docid, kind, id, org, public, slug, name, tags, visibility, created_at, session, digest, description, body)
		VALUES (7, 'agent', 'agt_1', 'default', 0, 's', 'n', '', 'org', '', '', 'd', 'about', 'tide and ebb')`)
	old.Exec(t, "UPDATE search_state SET extractors = 'those'")
	old.Open(t)
	for what, q := range map[string]string{
		"text":     "SELECT count(*) FROM search_texts_b WHERE docid = 7 AND body = 'tide and ebb'",
		"document": "SELECT count(*) FROM search_documents_b WHERE docid = 7 AND description = 'about'",
		"state":    "SELECT count(*) FROM search_state WHERE extractors = 'those'",
	} {
		if old.Count(t, q) != 1 {
			t.Errorf("the %s is not as it was", what)
		}
	}
}
