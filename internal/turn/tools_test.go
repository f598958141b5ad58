package turn_test

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/turn"
)

// storeDown is what a store says that cannot write.
var storeDown = fault.New(fault.Unavailable, "STORE_WRITE_FAILED", "the store cannot write").Retry()

// impatient turns do not wait for a store that fails.
var impatient = turn.Options{Patience: time.Nanosecond}

// fixed is a read-only tool with one result.
type fixed struct{ name, text string }

func (f fixed) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Description: "x", Schema: []byte(`{"type":"object"}`), Class: tool.ReadOnly}
}

func (f fixed) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	return tool.Result{Text: f.text}, nil
}

// meeting is a read-only tool whose calls wait for each other in pairs.
type meeting struct{ at chan struct{} }

func (m meeting) Spec() tool.Spec { return fixed{name: "read"}.Spec() }

func (m meeting) Run(ctx context.Context, _ tool.Env, _ tool.Call) (tool.Result, error) {
	select {
	case m.at <- struct{}{}:
	case <-m.at:
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
	return tool.Result{Text: "met"}, nil
}
