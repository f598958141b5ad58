package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/standard"
)

// C131: what is searchable is what the kinds declare. What was said in private, keys and
// values never are.
func TestTheSearchableKinds(t *testing.T) {
	t.Parallel()
	var searchable []string
	for _, k := range standard.Kinds() {
		if k.Search != nil {
			searchable = append(searchable, k.Name())
		}
	}
	slices.Sort(searchable)
	if want := []string{"agent", "agent_execution", "artifact", "organization", "session"}; !slices.Equal(searchable, want) {
		t.Errorf("the searchable kinds are %v, want %v", searchable, want)
	}
	for _, never := range []string{"project", "memory", "identity_account", "api_key", "iam_policy", "platform_client", "oauth_app", "environment", "execution_context"} {
		if slices.Contains(searchable, never) {
			t.Errorf("%s is searchable", never)
		}
	}
}

// C133: a server that has started is searched, and its default organization found.
func TestAServerIsSearched(t *testing.T) {
	t.Parallel()
	a := assembled(t)
	<-a.index.Filled()
	res, err := a.deps.Search.Search(t.Context(), search.Criteria{Query: "default"})
	if err != nil || res.Total != 1 || res.Hits[0].Kind != "organization" {
		t.Errorf("found %+v, %v", res, err)
	}
}

// C135: what a database of each released schema holds is found after its first start
// with this release.
func TestReleasedDatabasesAreSearched(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"v1.db", "v2.db"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data, err := os.ReadFile(filepath.Join("..", "store", "sqlite", "testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "cadre.db"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			a := assembledIn(t, dir)
			<-a.index.Filled()
			find := func(c search.Criteria) search.Result {
				t.Helper()
				res, err := a.deps.Search.Search(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			if res := find(search.Criteria{Query: "writ", Kinds: []string{"agent"}, Org: "default"}); res.Total != 1 || res.Hits[0].Slug != "writer" {
				t.Errorf("the agent is found as %+v", res)
			}
			turns := find(search.Criteria{Kinds: []string{"agent_execution"}})
			if turns.Total != 3 || len(turns.Hits) != 3 || turns.Hits[0].Session == "" {
				t.Errorf("the turns are %+v", turns)
			}
		})
	}
}
