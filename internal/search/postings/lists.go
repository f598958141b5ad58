package postings

import (
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
)

// field says where a word stands.
type field string

const (
	anywhere field = "a"
	inTitle  field = "t" // in name, slug, labels or id
)

// A scope is a part of all documents, and has lists of its own.
const (
	everything = ""
	publicOnly = "p" // what is public in any organization
)

func organization(org string) string { return "o:" + org }

// all is the word of every document.
const all = "*"

// listOf is the name of a word's list. Words have no slash.
func listOf(f field, scope, word string) string { return string(f) + scope + "/" + word }

// listsOf are all lists that a document is in.
func listsOf(d search.Document) []string {
	words := append(d.All(), relational.Scope(d.Org, d.Kind, d.Public())[1:]...) // the organization is a scope
	words = append(append(words, d.Beginnings()...), all)
	title := d.Title()
	scopes := []string{everything, organization(d.Org)}
	if d.Public() {
		scopes = append(scopes, publicOnly)
	}
	lists := make([]string, 0, len(scopes)*(len(words)+len(title)))
	for _, s := range scopes {
		for _, w := range words {
			lists = append(lists, listOf(anywhere, s, w))
		}
		for _, w := range title {
			lists = append(lists, listOf(inTitle, s, w))
		}
	}
	return lists
}

// scopesOf are the parts that criteria ask for. What is in several of them counts once.
func scopesOf(c search.Criteria) []string {
	switch {
	case c.Org == "":
		return []string{everything}
	case c.CrossOrgPublic && !c.ExcludePublic:
		return []string{organization(c.Org), publicOnly}
	}
	return []string{organization(c.Org)}
}

// narrowed are the lists that criteria narrow a scope to: of each group a document is in one.
func narrowed(c search.Criteria, scope string) (groups [][]string) {
	if c.ExcludePublic {
		groups = append(groups, []string{listOf(anywhere, scope, relational.PublicWord(false))})
	}
	var kinds []string
	for _, k := range c.Kinds {
		kinds = append(kinds, listOf(anywhere, scope, relational.KindWord(k)))
	}
	if len(kinds) > 0 {
		groups = append(groups, kinds)
	}
	return groups
}
