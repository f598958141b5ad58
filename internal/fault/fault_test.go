package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
)

var errSample = fault.New(fault.NotFound, "GONE", "it is gone")

func TestFaultsMatchByCodeAndReason(t *testing.T) {
	t.Parallel()
	other := fault.New(fault.NotFound, "GONE", "agent %s is gone", "a").With("k", "v").Retry()
	if !errors.Is(fmt.Errorf("wrapped: %w", other), errSample) {
		t.Error("a fault with the same code and reason does not match")
	}
	if errors.Is(fault.New(fault.NotFound, "ELSE", "x"), errSample) || errors.Is(fault.New(fault.Aborted, "GONE", "x"), errSample) || errors.Is(errors.New("x"), errSample) {
		t.Error("another fault matches")
	}
}

func TestCopiesLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	c := errSample.With("a", "1").Because(cause).Retry()
	if errSample.Meta != nil || errSample.Retryable || errSample.Unwrap() != nil {
		t.Error("the shared fault changed")
	}
	if d := c.With("b", "2"); len(c.Meta) != 1 || len(d.Meta) != 2 {
		t.Error("a copy shares its facts")
	}
	if !errors.Is(c, cause) || c.Message != "it is gone" || c.Error() != "it is gone: cause" {
		t.Errorf("got %q, message %q", c.Error(), c.Message)
	}
}

func TestAnythingElseIsInternalAndSaysNothing(t *testing.T) {
	t.Parallel()
	f := fault.From(errors.New("password=x"))
	if f.Code != fault.Internal || f.Message != "internal error" {
		t.Errorf("got %v with the message %q", f.Code, f.Message)
	}
	if fault.From(nil) != nil || fault.CodeOf(nil) != "" || fault.ReasonOf(nil) != "" {
		t.Error("no error is no fault")
	}
}
