package store

import (
	"context"
	"time"
)

// RunState is where a schedule's run stands.
type RunState string

// The states. Those after RunStarted are terminal.
const (
	RunPending   RunState = "pending"
	RunStarted   RunState = "started"
	RunCompleted RunState = "completed"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
	RunSkipped   RunState = "skipped" // its time came and it was not begun: overlap, or a server that was down
)

// Terminal says whether a run in this state is over.
func (s RunState) Terminal() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled || s == RunSkipped
}

// ScheduleRun is one firing of a schedule.
type ScheduleRun struct {
	Schedule  string // the schedule's id
	ID        string // of the run; unique within the schedule
	Org       string
	DueAt     time.Time // when the schedule wanted it
	State     RunState
	Target    string // the session or execution that it began; "" before
	Detail    string // why it failed or was skipped, in a sentence
	UpdatedAt time.Time
}

// ScheduleLedger remembers what schedules did.
type ScheduleLedger interface {
	// UpsertScheduleRun writes a run. One that is terminal stays as it is: written says
	// whether this call changed it.
	UpsertScheduleRun(ctx context.Context, r ScheduleRun) (written bool, err error)
	// EndLatestScheduleRun gives the schedule's run with the latest DueAt a terminal
	// state. ended is false, and nothing is written, when it is terminal already or there is
	// none. BAD_QUERY for a state that is not terminal.
	EndLatestScheduleRun(ctx context.Context, schedule string, state RunState, detail string, now time.Time) (ended bool, err error)
	// ScheduleRuns answers a schedule's runs, the latest DueAt first. limit must be positive.
	ScheduleRuns(ctx context.Context, schedule string, limit int) ([]ScheduleRun, error)
	// DeleteScheduleRuns removes all runs of a schedule and counts them.
	DeleteScheduleRuns(ctx context.Context, schedule string) (int64, error)
	// PruneScheduleRuns removes terminal runs that were written last before a time, and
	// counts them. What is not over is never pruned.
	PruneScheduleRuns(ctx context.Context, before time.Time) (int64, error)
}
