package store_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/cadre-dev/cadre/internal/store"
)

var errRefused = errors.New("refused")

// Every method that takes a context goes through the function, under its own name.
func TestAroundHasEachCall(t *testing.T) {
	t.Parallel()
	var seen []store.Call
	s := store.Around(nil, func(_ context.Context, c store.Call, _ func(context.Context) error) error {
		seen = append(seen, c)
		return errRefused
	})
	contract := reflect.TypeFor[store.Store]()
	ctx := reflect.TypeFor[context.Context]()
	for m := range contract.Methods() {
		if m.Type.NumIn() == 0 || m.Type.In(0) != ctx {
			continue
		}
		if !called(t, s, m, &seen) {
			t.Errorf("%s does not go through: give it its lines in around.go or around_ledger.go", m.Name)
		}
	}
}

// called calls a method with nothing and compares what came of it.
func called(t *testing.T, s store.Store, m reflect.Method, seen *[]store.Call) (ok bool) {
	t.Helper()
	defer func() {
		if recover() != nil { // there is no store behind it
			ok = false
		}
	}()
	*seen = nil
	args := []reflect.Value{reflect.ValueOf(t.Context())}
	for i := 1; i < m.Type.NumIn(); i++ {
		args = append(args, reflect.Zero(m.Type.In(i)))
	}
	out := reflect.ValueOf(s).MethodByName(m.Name).Call(args)
	err, _ := out[len(out)-1].Interface().(error)
	if len(*seen) != 1 || !errors.Is(err, errRefused) {
		return false
	}
	if got := (*seen)[0].Method; got != snake(m.Name) {
		t.Errorf("%s is called %s", m.Name, got)
	}
	return true
}

// snake writes a method's name in snake case.
func snake(name string) string {
	var out strings.Builder
	var before rune
	for i, r := range strings.ReplaceAll(name, "ID", "Id") {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(before) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
		before = r
	}
	return out.String()
}

func TestInnerIsTheStoreBehind(t *testing.T) {
	t.Parallel()
	pass := func(ctx context.Context, _ store.Call, next func(context.Context) error) error { return next(ctx) }
	behind := &struct{ store.Store }{}
	if got := store.Inner(store.Around(store.Around(behind, pass), pass)); got != store.Store(behind) {
		t.Errorf("it is %T", got)
	}
}
