package postings_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/postings"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
)

func BenchmarkSearch(b *testing.B) { searchtest.Bench(b, open, postings.New) }
