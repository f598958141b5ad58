package main

// target is code whose every decision a test must hold.
type target struct {
	name  string
	files []string // from the root of the checkout; behind # the functions that count, else all
	tests []string // packages whose tests must notice
	run   string   // -run of them
	slow  string   // those that are run after the others have noticed nothing
}

// turnSlow are the tests of turns that write very long texts.
const turnSlow = "^(TestAHistoryBeyondAllBoundsIsNotSent|TestAnEndlessAnswerFails)$"

var targets = []target{
	{
		name:  "classification",
		files: []string{"internal/turn/failure/table.go", "internal/turn/failure/walk.go", "internal/turn/failure/failure.go"},
		tests: []string{"./internal/turn/failure", "./internal/turn"},
		slow:  turnSlow,
	},
	{
		name:  "evidence",
		files: []string{"internal/model/quota.go", "internal/model/httperr.go", "internal/model/httpwords.go"},
		tests: []string{"./internal/model", "./internal/turn/failure"},
	},
	{
		name:  "hand-off",
		files: []string{"internal/turn/handoff/handoff.go"},
		tests: []string{"./internal/turn/handoff"},
	},
	{
		name:  "compaction",
		files: []string{"internal/turn/compaction/compaction.go", "internal/turn/compaction/plan.go", "internal/turn/compaction/request.go", "internal/turn/failure/compacting.go"},
		tests: []string{"./internal/turn/compaction", "./internal/turn/failure"},
	},
	{
		name:  "replacing a history",
		files: []string{"internal/turn/fit.go", "internal/turn/compact.go", "internal/store/relational/history.go"},
		tests: []string{"./internal/turn", "./internal/store/sqlite"},
		slow:  turnSlow,
	},
	{
		name:  "admission",
		files: []string{"internal/turn/gate.go", "internal/turn/budget.go", "internal/turn/ask.go#ask,begin,unanswered,unused,checkpoint,hold,listen,respond"},
		tests: []string{"./internal/turn"},
		slow:  turnSlow,
	},
	{
		name:  "settlement",
		files: []string{"internal/turn/settle.go", "internal/turn/recovery.go", "internal/turn/turn.go", "internal/turn/policy.go"},
		tests: []string{"./internal/turn"},
		slow:  turnSlow,
	},
	{
		name:  "ledger",
		files: []string{"internal/store/relational/settle.go", "internal/store/relational/turn.go", "internal/store/relational/budgets.go"},
		tests: []string{"./internal/store/sqlite", "./internal/turn"},
		slow:  turnSlow,
	},
}
