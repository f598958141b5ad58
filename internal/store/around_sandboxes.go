package store

import (
	"context"
	"time"
)

func (a *around) HoldSandbox(ctx context.Context, h SandboxHold) (SandboxLease, error) {
	return result(ctx, a, Call{"hold_sandbox", writing}, func(ctx context.Context) (SandboxLease, error) { return a.Store.HoldSandbox(ctx, h) })
}

func (a *around) WarmedSandbox(ctx context.Context, l SandboxLease, now time.Time) error {
	return a.do(ctx, Call{"warmed_sandbox", writing}, func(ctx context.Context) error { return a.Store.WarmedSandbox(ctx, l, now) })
}

func (a *around) CooledSandbox(ctx context.Context, l SandboxLease, now time.Time) error {
	return a.do(ctx, Call{"cooled_sandbox", writing}, func(ctx context.Context) error { return a.Store.CooledSandbox(ctx, l, now) })
}

func (a *around) ReleaseSandbox(ctx context.Context, k SandboxKey, holder string, now time.Time) error {
	return a.do(ctx, Call{"release_sandbox", writing}, func(ctx context.Context) error { return a.Store.ReleaseSandbox(ctx, k, holder, now) })
}

func (a *around) DrainSandbox(ctx context.Context, d SandboxDrain) (SandboxLease, error) {
	return result(ctx, a, Call{"drain_sandbox", writing}, func(ctx context.Context) (SandboxLease, error) { return a.Store.DrainSandbox(ctx, d) })
}

func (a *around) DrainedSandbox(ctx context.Context, l SandboxLease, gone bool, now time.Time) error {
	return a.do(ctx, Call{"drained_sandbox", writing}, func(ctx context.Context) error { return a.Store.DrainedSandbox(ctx, l, gone, now) })
}

func (a *around) ForgetHolders(ctx context.Context, now time.Time) (int64, error) {
	return result(ctx, a, Call{"forget_holders", writing}, func(ctx context.Context) (int64, error) { return a.Store.ForgetHolders(ctx, now) })
}

func (a *around) Sandbox(ctx context.Context, k SandboxKey) (SandboxLease, error) {
	return result(ctx, a, Call{"sandbox", reading}, func(ctx context.Context) (SandboxLease, error) { return a.Store.Sandbox(ctx, k) })
}

func (a *around) Sandboxes(ctx context.Context, after SandboxKey, limit int) ([]SandboxLease, error) {
	return result(ctx, a, Call{"sandboxes", reading}, func(ctx context.Context) ([]SandboxLease, error) { return a.Store.Sandboxes(ctx, after, limit) })
}
