package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// streamed is the error with which a production ends, and its last part.
func streamed(ctx context.Context, produce func(ctx context.Context, give func(model.Part) bool) error) (last model.Part, err error) {
	for p, e := range model.Stream(ctx, produce) {
		if e != nil {
			return last, e
		}
		last = p
	}
	return last, nil
}

// A host that repeats the key in the middle of an answer does not get it told further.
func TestAKeyIsInNoError(t *testing.T) {
	t.Parallel()
	const key = "sk-sentinel-0123456789"
	ctx := model.Hiding(t.Context(), key)
	for name, wire := range map[string]error{
		"of the wire":   &model.Error{Category: model.ServerError, Code: "c " + key, Type: key, Message: "boom with " + key + " and " + key},
		"of a library":  errors.New("cannot read: " + key),
		"at the border": &model.Error{Category: model.ServerError, Message: strings.Repeat("x", model.MessageLimit-10) + key},
	} {
		_, err := streamed(ctx, func(context.Context, func(model.Part) bool) error { return wire })
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", name, err)
		}
		if all := e.Message + e.Code + e.Type; strings.Contains(all, key[:12]) || !strings.Contains(all, "[sec") {
			t.Errorf("an error %s says %s", name, all)
		}
	}
}

// What a host says that it used cannot spoil sums.
func TestUsageIsOneThatCanBe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ told, want *messagev1.Usage }{
		{nil, nil},
		{&messagev1.Usage{InputTokens: 12, OutputTokens: 7, CachedInputTokens: 4, CacheWriteInputTokens: 5, ReasoningTokens: 3}, &messagev1.Usage{InputTokens: 12, OutputTokens: 7, CachedInputTokens: 4, CacheWriteInputTokens: 5, ReasoningTokens: 3}},
		{&messagev1.Usage{InputTokens: -5, OutputTokens: -7}, &messagev1.Usage{}},
		{&messagev1.Usage{InputTokens: 10, CachedInputTokens: 500, CacheWriteInputTokens: 500, OutputTokens: 1, ReasoningTokens: 9}, &messagev1.Usage{InputTokens: 10, CachedInputTokens: 10, OutputTokens: 1, ReasoningTokens: 1}},
		{&messagev1.Usage{InputTokens: 1e18, OutputTokens: 1e18}, &messagev1.Usage{InputTokens: 1e9, OutputTokens: 1e9}},
	} {
		last, err := streamed(t.Context(), func(_ context.Context, give func(model.Part) bool) error {
			give(model.Part{Done: &model.Done{FinishReason: "stop", Usage: test.told}})
			return nil
		})
		if err != nil || last.Done.Usage.String() != test.want.String() {
			t.Errorf("%v becomes %v (%v), want %v", test.told, last.Done.Usage, err, test.want)
		}
	}
}
