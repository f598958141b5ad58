package store

import (
	"context"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

func (a *around) Accept(ctx context.Context, in Accept) (int64, error) {
	return result(ctx, a, Call{"accept", writing}, func(ctx context.Context) (int64, error) { return a.Store.Accept(ctx, in) })
}

func (a *around) CreateSession(ctx context.Context, n NewSession, once *Once) error {
	return a.do(ctx, Call{"create_session", writing}, func(ctx context.Context) error { return a.Store.CreateSession(ctx, n, once) })
}

func (a *around) DeleteSession(ctx context.Context, session string, once *Once) (Row, error) {
	return result(ctx, a, Call{"delete_session", writing}, func(ctx context.Context) (Row, error) { return a.Store.DeleteSession(ctx, session, once) })
}

func (a *around) Peek(ctx context.Context, session string, now time.Time) (Work, error) {
	return result(ctx, a, Call{"peek", writing}, func(ctx context.Context) (Work, error) { return a.Store.Peek(ctx, session, now) })
}

func (a *around) Claim(ctx context.Context, c Claim) (Claimed, error) {
	return result(ctx, a, Call{"claim", writing}, func(ctx context.Context) (Claimed, error) { return a.Store.Claim(ctx, c) })
}

func (a *around) Append(ctx context.Context, f Fence, events []*eventv1.Event) error {
	return a.do(ctx, Call{"append", writing}, func(ctx context.Context) error { return a.Store.Append(ctx, f, events) })
}

func (a *around) Dispatch(ctx context.Context, f Fence, d Dispatch) error {
	return a.do(ctx, Call{"dispatch", writing}, func(ctx context.Context) error { return a.Store.Dispatch(ctx, f, d) })
}

func (a *around) Respond(ctx context.Context, f Fence, r Response) error {
	return a.do(ctx, Call{"respond", writing}, func(ctx context.Context) error { return a.Store.Respond(ctx, f, r) })
}

func (a *around) StartTools(ctx context.Context, f Fence, starts []ToolStart) error {
	return a.do(ctx, Call{"start_tools", writing}, func(ctx context.Context) error { return a.Store.StartTools(ctx, f, starts) })
}

func (a *around) UnstartTools(ctx context.Context, f Fence, calls []string) error {
	return a.do(ctx, Call{"unstart_tools", writing}, func(ctx context.Context) error { return a.Store.UnstartTools(ctx, f, calls) })
}

func (a *around) FinishTools(ctx context.Context, f Fence, results []ToolFinish) error {
	return a.do(ctx, Call{"finish_tools", writing}, func(ctx context.Context) error { return a.Store.FinishTools(ctx, f, results) })
}

func (a *around) AddItem(ctx context.Context, f Fence, item *messagev1.Item, handOff bool) error {
	return a.do(ctx, Call{"add_item", writing}, func(ctx context.Context) error { return a.Store.AddItem(ctx, f, item, handOff) })
}

func (a *around) Compact(ctx context.Context, f Fence, c Compaction) error {
	return a.do(ctx, Call{"compact", writing}, func(ctx context.Context) error { return a.Store.Compact(ctx, f, c) })
}

func (a *around) Settle(ctx context.Context, f Fence, s Settlement) error {
	return a.do(ctx, Call{"settle", writing}, func(ctx context.Context) error { return a.Store.Settle(ctx, f, s) })
}

func (a *around) Release(ctx context.Context, f Fence, reason string, now time.Time) error {
	return a.do(ctx, Call{"release", writing}, func(ctx context.Context) error { return a.Store.Release(ctx, f, reason, now) })
}

func (a *around) RequestCancel(ctx context.Context, c CancelRequest) (CancelAnswer, error) {
	return result(ctx, a, Call{"request_cancel", writing}, func(ctx context.Context) (CancelAnswer, error) { return a.Store.RequestCancel(ctx, c) })
}

func (a *around) Recover(ctx context.Context, r RecoverRequest) (RecoverAnswer, error) {
	return result(ctx, a, Call{"recover", writing}, func(ctx context.Context) (RecoverAnswer, error) { return a.Store.Recover(ctx, r) })
}

func (a *around) Cancelling(ctx context.Context, f Fence, unconfirmed []string, now time.Time) error {
	return a.do(ctx, Call{"cancelling", writing}, func(ctx context.Context) error { return a.Store.Cancelling(ctx, f, unconfirmed, now) })
}

func (a *around) SettleInterrupted(ctx context.Context, session, execution string, now time.Time) error {
	return a.do(ctx, Call{"settle_interrupted", writing}, func(ctx context.Context) error { return a.Store.SettleInterrupted(ctx, session, execution, now) })
}

func (a *around) Events(ctx context.Context, q EventQuery) ([]*eventv1.Event, error) {
	return result(ctx, a, Call{"events", reading}, func(ctx context.Context) ([]*eventv1.Event, error) { return a.Store.Events(ctx, q) })
}

func (a *around) Session(ctx context.Context, session string) (SessionState, error) {
	return result(ctx, a, Call{"session", reading}, func(ctx context.Context) (SessionState, error) { return a.Store.Session(ctx, session) })
}

func (a *around) Open(ctx context.Context, after string, limit int) ([]Nudge, error) {
	return result(ctx, a, Call{"open", reading}, func(ctx context.Context) ([]Nudge, error) { return a.Store.Open(ctx, after, limit) })
}

func (a *around) Stale(ctx context.Context, before, now time.Time, limit int) ([]Nudge, error) {
	return result(ctx, a, Call{"stale", reading}, func(ctx context.Context) ([]Nudge, error) { return a.Store.Stale(ctx, before, now, limit) })
}

func (a *around) Disown(ctx context.Context, boot, node string, now time.Time) ([]LiveAttempt, error) {
	return result(ctx, a, Call{"disown", writing}, func(ctx context.Context) ([]LiveAttempt, error) { return a.Store.Disown(ctx, boot, node, now) })
}

func (a *around) LiveAttempts(ctx context.Context) ([]LiveAttempt, error) {
	return result(ctx, a, Call{"live_attempts", reading}, func(ctx context.Context) ([]LiveAttempt, error) { return a.Store.LiveAttempts(ctx) })
}

func (a *around) Usage(ctx context.Context, q UsageQuery) (UsageSums, error) {
	return result(ctx, a, Call{"usage", reading}, func(ctx context.Context) (UsageSums, error) { return a.Store.Usage(ctx, q) })
}

func (a *around) PutArtifact(ctx context.Context, f Fence, row Row, event *eventv1.Event) error {
	return a.do(ctx, Call{"put_artifact", writing}, func(ctx context.Context) error { return a.Store.PutArtifact(ctx, f, row, event) })
}

func (a *around) EngineID(ctx context.Context) (string, error) {
	return result(ctx, a, Call{"engine_id", reading}, func(ctx context.Context) (string, error) { return a.Store.EngineID(ctx) })
}

func (a *around) SetEngineID(ctx context.Context, id string) error {
	return a.do(ctx, Call{"set_engine_id", writing}, func(ctx context.Context) error { return a.Store.SetEngineID(ctx, id) })
}

func (a *around) SetTimer(ctx context.Context, session, name string, due time.Time) error {
	return a.do(ctx, Call{"set_timer", writing}, func(ctx context.Context) error { return a.Store.SetTimer(ctx, session, name, due) })
}
