package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// stopped is a database of its own whose chain stopped at a version.
func stopped(t *testing.T, version int64) (url string, old storetest.Old) {
	t.Helper()
	url = postgrestest.Shared(t).URL(t)
	if err := postgres.MigrateTo(t.Context(), url, version); err != nil {
		t.Fatal(err)
	}
	return url, raw(url)
}

// raw reaches a database beside the driver.
func raw(url string) storetest.Old {
	return storetest.Old{
		Exec: func(t *testing.T, q string, args ...any) {
			t.Helper()
			if _, err := connection(t, url).Exec(t.Context(), numbered(q), args...); err != nil {
				t.Fatal(err)
			}
		},
		Count: func(t *testing.T, q string) (n int) {
			t.Helper()
			if err := connection(t, url).QueryRow(t.Context(), q).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
		Open: func(t *testing.T) store.Store {
			t.Helper()
			return openURL(t, url)
		},
	}
}

func connection(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// numbered turns `?` into $1, $2.
func numbered(q string) string {
	for n := 1; strings.Contains(q, "?"); n++ {
		q = strings.Replace(q, "?", fmt.Sprintf("$%d", n), 1)
	}
	return q
}

func versionsOf(t *testing.T, url string) []int64 {
	t.Helper()
	rows, err := connection(t, url).Query(t.Context(), "SELECT version_id FROM schema_version WHERE is_applied AND version_id > 0 ORDER BY version_id")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wholeChain is the version of each step.
func wholeChain(t *testing.T) []int64 {
	t.Helper()
	steps, err := postgres.Chain()
	if err != nil {
		t.Fatal(err)
	}
	var all []int64
	for _, s := range steps {
		all = append(all, s.Version)
	}
	return all
}

// C116: a fresh database gets the whole chain, one row per version, numbered by itself.
func TestAFreshDatabaseGetsTheWholeChain(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).URL(t)
	openURL(t, url)
	want := wholeChain(t)
	if got := versionsOf(t, url); !slices.Equal(got, want) {
		t.Errorf("the versions are %v, want %v", got, want)
	}
	for i, version := range want {
		if version != int64(i)+1 {
			t.Errorf("the chain is %v, want 1, 2, 3 …", want)
			break
		}
	}
	openURL(t, url)
	if got := versionsOf(t, url); !slices.Equal(got, want) {
		t.Errorf("after a second open the versions are %v", got)
	}
}

// C117, C118, C119, C120: a database that is brought back to v1 by hand goes on with
// what came after it.
func TestADatabaseRewoundToV1GoesOn(t *testing.T) {
	t.Parallel()
	url := postgrestest.Shared(t).URL(t)
	if err := openURL(t, url).Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(url)
	db.Exec(t, "DROP INDEX idx_wfee_created_at")
	db.Exec(t, "DROP INDEX idx_oauth_grant_resource")
	db.Exec(t, "DELETE FROM schema_version WHERE version_id > 1")
	for _, r := range [][2]string{{"project", "prj_t41"}, {"organization", "harbor"}} {
		db.Exec(t, `INSERT INTO resources (kind, id, org, slug, name, visibility, version, created_at, updated_at, i1, i2, i3, i4, data)
			VALUES (?, ?, '', '', '', '', 1, '', '', '', '', '', '', '')`, r[0], r[1])
		db.Exec(t, "INSERT INTO version_history (kind, resource_id, number, hash, data, created_at) VALUES (?, ?, 1, 'h', '', '')", r[0], r[1])
	}
	s := openURL(t, url)
	for index, table := range map[string]string{
		"idx_wfee_created_at":      "workflow_execution_events", // C117
		"idx_oauth_grant_resource": "oauth_grant",               // C118
	} {
		if n := db.Count(t, "SELECT count(*) FROM pg_indexes WHERE indexname = '"+index+"' AND tablename = '"+table+"'"); n != 1 {
			t.Errorf("the index %s on %s is not there", index, table)
		}
	}
	if n := db.Count(t, "SELECT count(*) FROM resources WHERE kind || '/' || id = 'organization/harbor'"); n != 1 || db.Count(t, "SELECT count(*) FROM resources") != 1 { // C119
		t.Error("there is more or less than organization/harbor")
	}
	if n := db.Count(t, "SELECT count(*) FROM version_history WHERE kind = 'project'"); n != 0 { // C120
		t.Errorf("%d versions of the kind project are left", n)
	}
	if n := db.Count(t, "SELECT count(*) FROM version_history"); n != 1 {
		t.Errorf("%d versions are left, want the organization's", n)
	}
	if got, want := versionsOf(t, url), wholeChain(t); !slices.Equal(got, want) {
		t.Errorf("the versions are %v, want %v", got, want)
	}
	if err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// A database that stopped at any version goes on from there.
func TestADatabaseAtAnyVersionResumes(t *testing.T) {
	t.Parallel()
	steps, err := postgres.Chain()
	if err != nil {
		t.Fatal(err)
	}
	storetest.Resumes(t, steps, 1, 4, func(t *testing.T, version int64) storetest.Old {
		_, old := stopped(t, version)
		return old
	})
}

func TestAFailingStepNamesItsVersionAndWritesNothing(t *testing.T) {
	t.Parallel()
	url, old := stopped(t, 3)
	old.Exec(t, "ALTER TABLE version_tags RENAME TO elsewhere") // in the way of the last statement of the step
	old.Exec(t, `INSERT INTO resource_labels (kind, id, key, value) VALUES ('project', 'p', 'k', 'v')`)
	_, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	f := fault.From(err)
	if f.Reason != "MIGRATION_FAILED" || !strings.Contains(f.Message, "migrate to v4: ") {
		t.Errorf("a failing step gave %v", err)
	}
	if got := versionsOf(t, url); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("after the failure the versions are %v", got)
	}
	if n := old.Count(t, "SELECT count(*) FROM resource_labels WHERE kind = 'project'"); n != 1 {
		t.Error("the failed step wrote something")
	}
	found, err := postgres.Inspect(t.Context(), url)
	if err != nil || found.Schema != 3 || len(found.Pending) == 0 || found.Pending[0] != (store.Step{Version: 4, Name: "project"}) {
		t.Errorf("the inspection finds %+v, %v", found, err)
	}
	old.Exec(t, "ALTER TABLE elsewhere RENAME TO version_tags")
	old.Open(t)
}

// The step to lists of postings empties the index and has it filled anew.
func TestTheSearchIndexIsFilledAnewAfterTheStepToPostings(t *testing.T) {
	t.Parallel()
	_, old := stopped(t, 6)
	old.Exec(t, `INSERT INTO search_documents_b (docid, kind, id, org, public, slug, name, tags, visibility, created_at, session, digest, description, body, title, terms)
		VALUES (7, 'agent', 'agt_1', 'default', 0, 's', 'n', '', 'org', '', '', 'd', '', '', '', '')`)
	old.Exec(t, "INSERT INTO search_counts (slot, org, kind, public, documents) VALUES ('b', 'default', 'agent', 0, 1)")
	old.Exec(t, "INSERT INTO search_dirty (kind, id, ticket, bulk) VALUES ('agent', 'agt_1', 1, 1), ('agent', 'agt_2', 1, 0)")
	old.Exec(t, "UPDATE search_state SET extractors = 'those', building = 2, holder = 'who'")
	old.Open(t)
	for q, want := range map[string]int{
		"SELECT count(*) FROM search_documents_b":                                                                 0,
		"SELECT count(*) FROM search_counts":                                                                      0,
		"SELECT count(*) FROM search_dirty WHERE bulk = 1":                                                        0,
		"SELECT count(*) FROM search_dirty":                                                                       1, // what changed is still to be indexed
		"SELECT count(*) FROM search_state WHERE extractors = '' AND building = 0 AND holder = ''":                1,
		"SELECT count(*) FROM pg_attribute WHERE attrelid = 'search_documents_b'::regclass AND attname = 'terms'": 0,
	} {
		if got := old.Count(t, q); got != want {
			t.Errorf("%s is %d, want %d", q, got, want)
		}
	}
}
