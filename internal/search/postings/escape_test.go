package postings_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/postings"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
)

// C140: whatever is looked for, PostgreSQL takes it for words.
func FuzzQuery(f *testing.F) { searchtest.FuzzQuery(f, open(f)(), postings.New()) }
