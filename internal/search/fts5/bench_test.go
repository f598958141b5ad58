package fts5_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/fts5"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
)

func BenchmarkSearch(b *testing.B) { searchtest.Bench(b, open, fts5.New) }
