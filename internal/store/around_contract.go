package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/resource"
)

func (a *around) FindByField(ctx context.Context, kind resource.Kind, path, value string, p Span) ([]Row, error) {
	return result(ctx, a, Call{"find_by_field", reading}, func(ctx context.Context) ([]Row, error) { return a.Store.FindByField(ctx, kind, path, value, p) })
}

func (a *around) FindByLabel(ctx context.Context, kind resource.Kind, key, value string, p Span) ([]Row, error) {
	return result(ctx, a, Call{"find_by_label", reading}, func(ctx context.Context) ([]Row, error) { return a.Store.FindByLabel(ctx, kind, key, value, p) })
}

func (a *around) SaveVersion(ctx context.Context, v Version) (Version, error) {
	return result(ctx, a, Call{"save_version", writing}, func(ctx context.Context) (Version, error) { return a.Store.SaveVersion(ctx, v) })
}

func (a *around) VersionByHash(ctx context.Context, kind resource.Kind, id, hash string) (Version, error) {
	return result(ctx, a, Call{"version_by_hash", reading}, func(ctx context.Context) (Version, error) { return a.Store.VersionByHash(ctx, kind, id, hash) })
}

func (a *around) VersionByNumber(ctx context.Context, kind resource.Kind, id string, number int64) (Version, error) {
	return result(ctx, a, Call{"version_by_number", reading}, func(ctx context.Context) (Version, error) { return a.Store.VersionByNumber(ctx, kind, id, number) })
}

func (a *around) VersionByTag(ctx context.Context, kind resource.Kind, id, tag string) (Version, error) {
	return result(ctx, a, Call{"version_by_tag", reading}, func(ctx context.Context) (Version, error) { return a.Store.VersionByTag(ctx, kind, id, tag) })
}

func (a *around) TagVersion(ctx context.Context, kind resource.Kind, id, hash, tag string) error {
	return a.do(ctx, Call{"tag_version", writing}, func(ctx context.Context) error { return a.Store.TagVersion(ctx, kind, id, hash, tag) })
}

func (a *around) LatestVersion(ctx context.Context, kind resource.Kind, id string) (string, error) {
	return result(ctx, a, Call{"latest_version", reading}, func(ctx context.Context) (string, error) { return a.Store.LatestVersion(ctx, kind, id) })
}

func (a *around) CountVersions(ctx context.Context, kind resource.Kind, id string) (int64, error) {
	return result(ctx, a, Call{"count_versions", reading}, func(ctx context.Context) (int64, error) { return a.Store.CountVersions(ctx, kind, id) })
}

func (a *around) ListVersions(ctx context.Context, kind resource.Kind, id string, before int64, limit int) ([]Version, error) {
	return result(ctx, a, Call{"list_versions", reading}, func(ctx context.Context) ([]Version, error) {
		return a.Store.ListVersions(ctx, kind, id, before, limit)
	})
}

func (a *around) DeleteVersions(ctx context.Context, kind resource.Kind, id string) (int64, error) {
	return result(ctx, a, Call{"delete_versions", writing}, func(ctx context.Context) (int64, error) { return a.Store.DeleteVersions(ctx, kind, id) })
}

func (a *around) AppendWorkflowEvents(ctx context.Context, events []WorkflowEvent) ([]WorkflowEvent, error) {
	return result(ctx, a, Call{"append_workflow_events", writing}, func(ctx context.Context) ([]WorkflowEvent, error) { return a.Store.AppendWorkflowEvents(ctx, events) })
}

func (a *around) WorkflowEvents(ctx context.Context, q WorkflowEventQuery) ([]WorkflowEvent, error) {
	return result(ctx, a, Call{"workflow_events", reading}, func(ctx context.Context) ([]WorkflowEvent, error) { return a.Store.WorkflowEvents(ctx, q) })
}

func (a *around) LastWorkflowEvent(ctx context.Context, execution string) (int64, error) {
	return result(ctx, a, Call{"last_workflow_event", reading}, func(ctx context.Context) (int64, error) { return a.Store.LastWorkflowEvent(ctx, execution) })
}

func (a *around) SweepWorkflowEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	return result(ctx, a, Call{"sweep_workflow_events", writing}, func(ctx context.Context) (int64, error) { return a.Store.SweepWorkflowEvents(ctx, before, limit) })
}

func (a *around) UpsertScheduleRun(ctx context.Context, r ScheduleRun) (bool, error) {
	return result(ctx, a, Call{"upsert_schedule_run", writing}, func(ctx context.Context) (bool, error) { return a.Store.UpsertScheduleRun(ctx, r) })
}

func (a *around) EndLatestScheduleRun(ctx context.Context, schedule string, state RunState, detail string, now time.Time) (bool, error) {
	return result(ctx, a, Call{"end_latest_schedule_run", writing}, func(ctx context.Context) (bool, error) {
		return a.Store.EndLatestScheduleRun(ctx, schedule, state, detail, now)
	})
}

func (a *around) ScheduleRuns(ctx context.Context, schedule string, limit int) ([]ScheduleRun, error) {
	return result(ctx, a, Call{"schedule_runs", reading}, func(ctx context.Context) ([]ScheduleRun, error) { return a.Store.ScheduleRuns(ctx, schedule, limit) })
}

func (a *around) DeleteScheduleRuns(ctx context.Context, schedule string) (int64, error) {
	return result(ctx, a, Call{"delete_schedule_runs", writing}, func(ctx context.Context) (int64, error) { return a.Store.DeleteScheduleRuns(ctx, schedule) })
}

func (a *around) PruneScheduleRuns(ctx context.Context, before time.Time) (int64, error) {
	return result(ctx, a, Call{"prune_schedule_runs", writing}, func(ctx context.Context) (int64, error) { return a.Store.PruneScheduleRuns(ctx, before) })
}

func (a *around) ClaimSignal(ctx context.Context, org, key, claim string, now time.Time) (s Signal, claimed bool, err error) {
	err = a.do(ctx, Call{"claim_signal", writing}, func(ctx context.Context) error {
		var err error
		s, claimed, err = a.Store.ClaimSignal(ctx, org, key, claim, now)
		return err
	})
	return s, claimed, err
}

func (a *around) DeliverSignal(ctx context.Context, org, key, claim, answer string, now time.Time) (bool, error) {
	return result(ctx, a, Call{"deliver_signal", writing}, func(ctx context.Context) (bool, error) {
		return a.Store.DeliverSignal(ctx, org, key, claim, answer, now)
	})
}

func (a *around) ReleaseSignal(ctx context.Context, org, key, claim string) (bool, error) {
	return result(ctx, a, Call{"release_signal", writing}, func(ctx context.Context) (bool, error) { return a.Store.ReleaseSignal(ctx, org, key, claim) })
}

func (a *around) SweepSignals(ctx context.Context, now time.Time) (int64, error) {
	return result(ctx, a, Call{"sweep_signals", writing}, func(ctx context.Context) (int64, error) { return a.Store.SweepSignals(ctx, now) })
}

func (a *around) PutGrant(ctx context.Context, g Grant) error {
	return a.do(ctx, Call{"put_grant", writing}, func(ctx context.Context) error { return a.Store.PutGrant(ctx, g) })
}

func (a *around) Grant(ctx context.Context, k GrantKey) (Grant, error) {
	return result(ctx, a, Call{"grant", reading}, func(ctx context.Context) (Grant, error) { return a.Store.Grant(ctx, k) })
}

func (a *around) DeleteGrant(ctx context.Context, k GrantKey) error {
	return a.do(ctx, Call{"delete_grant", writing}, func(ctx context.Context) error { return a.Store.DeleteGrant(ctx, k) })
}

func (a *around) DeleteGrantsOf(ctx context.Context, resource, org string) (int64, error) {
	return result(ctx, a, Call{"delete_grants_of", writing}, func(ctx context.Context) (int64, error) { return a.Store.DeleteGrantsOf(ctx, resource, org) })
}

func (a *around) PutPendingAuthorization(ctx context.Context, state string, sealed []byte, now time.Time) error {
	return a.do(ctx, Call{"put_pending_authorization", writing}, func(ctx context.Context) error { return a.Store.PutPendingAuthorization(ctx, state, sealed, now) })
}

func (a *around) TakePendingAuthorization(ctx context.Context, state string, now time.Time) ([]byte, error) {
	return result(ctx, a, Call{"take_pending_authorization", writing}, func(ctx context.Context) ([]byte, error) { return a.Store.TakePendingAuthorization(ctx, state, now) })
}

func (a *around) RenewLease(ctx context.Context, l Lease, ttl time.Duration, now time.Time) (Lease, error) {
	return result(ctx, a, Call{"renew_lease", writing}, func(ctx context.Context) (Lease, error) { return a.Store.RenewLease(ctx, l, ttl, now) })
}

func (a *around) ReleaseLease(ctx context.Context, l Lease) error {
	return a.do(ctx, Call{"release_lease", writing}, func(ctx context.Context) error { return a.Store.ReleaseLease(ctx, l) })
}

func (a *around) Lease(ctx context.Context, name string) (Lease, error) {
	return result(ctx, a, Call{"lease", reading}, func(ctx context.Context) (Lease, error) { return a.Store.Lease(ctx, name) })
}

func (a *around) PutBudget(ctx context.Context, b Budget, once *Once) error {
	return a.do(ctx, Call{"put_budget", writing}, func(ctx context.Context) error { return a.Store.PutBudget(ctx, b, once) })
}

func (a *around) Budget(ctx context.Context, k BudgetKey) (Budget, error) {
	return result(ctx, a, Call{"budget", reading}, func(ctx context.Context) (Budget, error) { return a.Store.Budget(ctx, k) })
}

func (a *around) ListBudgets(ctx context.Context, org string, after *BudgetKey, limit int) ([]Budget, error) {
	return result(ctx, a, Call{"list_budgets", reading}, func(ctx context.Context) ([]Budget, error) { return a.Store.ListBudgets(ctx, org, after, limit) })
}

func (a *around) DeleteBudget(ctx context.Context, k BudgetKey, once *Once) error {
	return a.do(ctx, Call{"delete_budget", writing}, func(ctx context.Context) error { return a.Store.DeleteBudget(ctx, k, once) })
}

func (a *around) Spend(ctx context.Context, q SpendQuery) (Spend, error) {
	return result(ctx, a, Call{"spend", reading}, func(ctx context.Context) (Spend, error) { return a.Store.Spend(ctx, q) })
}

func (a *around) SetGoal(ctx context.Context, c GoalChange) (Goal, error) {
	return result(ctx, a, Call{"set_goal", writing}, func(ctx context.Context) (Goal, error) { return a.Store.SetGoal(ctx, c) })
}

func (a *around) Goal(ctx context.Context, session string) (Goal, error) {
	return result(ctx, a, Call{"goal", reading}, func(ctx context.Context) (Goal, error) { return a.Store.Goal(ctx, session) })
}

func (a *around) CompleteGoal(ctx context.Context, f Fence, version int64, evidence string, now time.Time) (bool, error) {
	return result(ctx, a, Call{"complete_goal", writing}, func(ctx context.Context) (bool, error) {
		return a.Store.CompleteGoal(ctx, f, version, evidence, now)
	})
}
