package tsvector_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/searchtest"
	"github.com/cadre-dev/cadre/internal/search/tsvector"
)

// C140: whatever is looked for, PostgreSQL takes it for words.
func FuzzQuery(f *testing.F) { searchtest.FuzzQuery(f, open(f)(), tsvector.New()) }
