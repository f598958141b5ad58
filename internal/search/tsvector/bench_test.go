package tsvector_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/searchtest"
	"github.com/cadre-dev/cadre/internal/search/tsvector"
)

func BenchmarkSearch(b *testing.B) { searchtest.Bench(b, open, tsvector.New) }
