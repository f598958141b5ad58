package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// GoalStatus says how a goal stands.
type GoalStatus string

// The statuses.
const (
	GoalActive    GoalStatus = "active"
	GoalPaused    GoalStatus = "paused"
	GoalCompleted GoalStatus = "completed"
)

// PausedForAllowance is the reason of a goal whose session's allowance is used up.
const PausedForAllowance = "allowance"

// Goal is what a session works towards. A session has at most one.
type Goal struct {
	Session   string
	Text      string
	Version   int64 // raised by each change
	Status    GoalStatus
	Reason    string // why it is paused
	Rationale string // what the one who paused it told
	Evidence  string // what shows that it is completed
	UpdatedAt time.Time
}

// GoalChange gives a session a goal.
type GoalChange struct {
	Session string
	Text    string
	By      string
	Found   func(Goal) // called inside the transaction with the goal, for the answer that Once keeps. May be nil
	Once    *Once
	Now     time.Time
}

// GoalPause pauses the active goal when an execution ends.
type GoalPause struct {
	Reason    string
	Rationale string
}

// Goals keeps what sessions work towards. What a settlement pauses, see Settlement.
type Goals interface {
	// SetGoal gives a session a goal, or another text, and makes it active. NotFound when
	// there is no such session.
	SetGoal(ctx context.Context, c GoalChange) (Goal, error)
	// Goal reads a session's. ErrNoGoal.
	Goal(ctx context.Context, session string) (Goal, error)
	// CompleteGoal completes the goal that a running turn works towards. False when its
	// version is another one by now, or it is not active.
	CompleteGoal(ctx context.Context, f Fence, version int64, evidence string, now time.Time) (bool, error)
}

// ErrNoGoal: the session was never given one.
var ErrNoGoal = fault.New(fault.NotFound, "NO_GOAL", "the session has no goal")
