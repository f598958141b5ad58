package app

import (
	"context"
	"errors"
	"os"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
)

// openSearch starts what keeps the search index up to date. A server that has much to
// index is ready before it is.
func (a *App) openSearch(ctx context.Context) error {
	db, ok := store.Inner(a.store).(search.Database)
	if !ok {
		return errors.New("the store has no database for a search index")
	}
	known := search.NewRegistry()
	for _, k := range standard.Kinds() {
		known.Add(ctx, a.log, k.Name(), k.New, k.Search)
	}
	a.index = search.NewIndexer(search.Options{DB: db, Index: standard.Store(os.Getenv).Search(), Known: known, Now: failpoint.Now, Log: a.log})
	a.onClose("search", func(context.Context) error { a.index.Stop(); return nil })
	a.index.Start(ctx)
	return nil
}
