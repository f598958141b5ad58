package model

import (
	"context"
	"strings"
)

// hidden is the key under which a context holds what must not be told.
type hidden struct{}

// Hiding has Stream take a key out of what it tells of a failure: hosts repeat keys,
// also in the middle of an answer. A key that is too short to be told apart from
// words is left.
func Hiding(ctx context.Context, key string) context.Context {
	if len(key) < shortestKey {
		return ctx
	}
	return context.WithValue(ctx, hidden{}, key)
}

// hide takes the key of a context out of an error that is the caller's own.
func hide(ctx context.Context, e *Error) {
	key, ok := ctx.Value(hidden{}).(string)
	if !ok {
		return
	}
	for _, s := range []*string{&e.Message, &e.Code, &e.Type} {
		*s = strings.ReplaceAll(*s, key, "[secret]")
	}
}
