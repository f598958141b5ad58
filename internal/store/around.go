package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/resource"
)

// Call names what is asked of a Store.
type Call struct {
	Method string // in snake case
	Write  bool   // it may change something
}

const (
	reading = false
	writing = true
)

// Around makes a Store whose every call goes through do, which calls next once, or
// answers an error without it. OnCommit and Close go through as they are.
func Around(s Store, do func(ctx context.Context, c Call, next func(context.Context) error) error) Store {
	return &around{s, do}
}

// around is a Store with something before and after each call.
type around struct {
	Store
	do func(context.Context, Call, func(context.Context) error) error
}

// Inner is the Store that s was put around, and s itself when it is none that Around
// made: what a driver offers beside a Store is asked of that one.
func Inner(s Store) Store {
	for {
		a, ok := s.(*around)
		if !ok {
			return s
		}
		s = a.Store
	}
}

// result is do for calls that answer something.
func result[T any](ctx context.Context, a *around, c Call, call func(context.Context) (T, error)) (out T, err error) {
	err = a.do(ctx, c, func(ctx context.Context) error {
		var err error
		out, err = call(ctx)
		return err
	})
	return out, err
}

func (a *around) Recall(ctx context.Context, once *Once) (answer []byte, found bool, err error) {
	err = a.do(ctx, Call{"recall", reading}, func(ctx context.Context) error {
		var err error
		answer, found, err = a.Store.Recall(ctx, once)
		return err
	})
	return answer, found, err
}

func (a *around) Create(ctx context.Context, row Row, once *Once) error {
	return a.do(ctx, Call{"create", writing}, func(ctx context.Context) error { return a.Store.Create(ctx, row, once) })
}

func (a *around) Save(ctx context.Context, row Row) error {
	return a.do(ctx, Call{"save", writing}, func(ctx context.Context) error { return a.Store.Save(ctx, row) }) //nolint:forbidigo // it is that very call that is passed on
}

func (a *around) Get(ctx context.Context, kind resource.Kind, id string) (Row, error) {
	return result(ctx, a, Call{"get", reading}, func(ctx context.Context) (Row, error) { return a.Store.Get(ctx, kind, id) })
}

func (a *around) Lookup(ctx context.Context, kind resource.Kind, org, slug string) (Row, error) {
	return result(ctx, a, Call{"lookup", reading}, func(ctx context.Context) (Row, error) { return a.Store.Lookup(ctx, kind, org, slug) })
}

func (a *around) Update(ctx context.Context, kind resource.Kind, id string, once *Once, change func(Row) (Row, error)) (Row, error) {
	return result(ctx, a, Call{"update", writing}, func(ctx context.Context) (Row, error) { return a.Store.Update(ctx, kind, id, once, change) })
}

func (a *around) Delete(ctx context.Context, kind resource.Kind, id string, once *Once, check func(Row) error) (Row, error) {
	return result(ctx, a, Call{"delete", writing}, func(ctx context.Context) (Row, error) { return a.Store.Delete(ctx, kind, id, once, check) })
}

func (a *around) List(ctx context.Context, q Query) (Page, error) {
	return result(ctx, a, Call{"list", reading}, func(ctx context.Context) (Page, error) { return a.Store.List(ctx, q) })
}

func (a *around) Slugs(ctx context.Context, kind resource.Kind, org, after string, limit int) ([]string, error) {
	return result(ctx, a, Call{"slugs", reading}, func(ctx context.Context) ([]string, error) { return a.Store.Slugs(ctx, kind, org, after, limit) })
}

func (a *around) BootState(ctx context.Context, key string) (string, error) {
	return result(ctx, a, Call{"boot_state", reading}, func(ctx context.Context) (string, error) { return a.Store.BootState(ctx, key) })
}

func (a *around) SetBootState(ctx context.Context, key, value string) error {
	return a.do(ctx, Call{"set_boot_state", writing}, func(ctx context.Context) error { return a.Store.SetBootState(ctx, key, value) })
}

func (a *around) InitBootState(ctx context.Context, key, value string) (string, error) {
	return result(ctx, a, Call{"init_boot_state", writing}, func(ctx context.Context) (string, error) { return a.Store.InitBootState(ctx, key, value) })
}

func (a *around) Health(ctx context.Context) error {
	return a.do(ctx, Call{"health", writing}, func(ctx context.Context) error { return a.Store.Health(ctx) })
}

func (a *around) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration, now time.Time) (Lease, error) {
	return result(ctx, a, Call{"acquire_lease", writing}, func(ctx context.Context) (Lease, error) { return a.Store.AcquireLease(ctx, name, holder, ttl, now) })
}

func (a *around) Settled(ctx context.Context, after string, limit int) ([]Settled, error) {
	return result(ctx, a, Call{"settled", reading}, func(ctx context.Context) ([]Settled, error) { return a.Store.Settled(ctx, after, limit) })
}

func (a *around) Trim(ctx context.Context, t Trim) (bool, error) {
	return result(ctx, a, Call{"trim", writing}, func(ctx context.Context) (bool, error) { return a.Store.Trim(ctx, t) })
}

func (a *around) TrimUsage(ctx context.Context, before time.Time, limit int) (int64, error) {
	return result(ctx, a, Call{"trim_usage", writing}, func(ctx context.Context) (int64, error) { return a.Store.TrimUsage(ctx, before, limit) })
}
