package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// call is one tool call on its way to a result.
type call struct {
	store.PendingTool
	tool     tool.Tool // nil when the agent has none of that name
	recorded bool      // its outcome is
}

func (c *call) id() string { return c.Call.GetId() }

func (c *call) input() tool.Call { return tool.Call{ID: c.id(), Args: []byte(c.Call.GetArguments())} }

func (c *call) class() tool.Class { return tool.ClassOf(c.tool, c.input()) }

func (c *call) readOnly() bool { return c.tool == nil || c.class() == tool.ReadOnly }

// outcome is what a call came to.
type outcome struct {
	result    tool.Result
	recovered bool // its effect was found done after a crash
	unknown   bool // nobody knows whether it took effect
	took      time.Duration
}

// runTools brings every open call of the newest answer to a result: together
// when all of them only read, otherwise one after the other.
func (t *turn) runTools(ctx context.Context) (step, error) {
	t.tooled = true
	calls := t.openCalls()
	batches := [][]*call{calls}
	if !allRead(calls) {
		batches = slices.Collect(slices.Chunk(calls, 1))
	}
	for _, batch := range batches {
		unknown, err := t.runBatch(ctx, batch)
		if err != nil {
			return nil, err
		}
		if unknown {
			return t.waitForPerson, nil
		}
	}
	t.pending, t.open = nil, nil
	return t.decide, nil
}

// openCalls are the calls of the newest answer that have no outcome yet.
func (t *turn) openCalls() []*call {
	if t.open == nil {
		t.open = make([]*call, len(t.pending))
		for i, p := range t.pending {
			t.open[i] = &call{PendingTool: p, tool: t.tools[p.Call.GetName()]}
		}
	}
	return t.open
}

func allRead(calls []*call) bool {
	for _, c := range calls {
		if !c.readOnly() {
			return false
		}
	}
	return true
}

// runBatch registers calls, runs them at once and records them in their order.
func (t *turn) runBatch(ctx context.Context, batch []*call) (unknown bool, err error) {
	works := make([]work, len(batch))
	starts := make([]store.ToolStart, 0, len(batch))
	for i, c := range batch {
		if works[i], err = t.prepare(ctx, c); err != nil {
			return false, err
		}
		if works[i].start != nil {
			starts = append(starts, *works[i].start)
		}
	}
	if len(starts) > 0 {
		if err := t.fx.Ledger().StartTools(ctx, t.claim.Fence, starts); err != nil {
			return false, err
		}
		for i, c := range batch {
			if s := works[i].start; s != nil {
				c.Started, c.Class, c.Mutation = true, s.Class, s.Mutation
			}
		}
	}
	outcomes, err := t.runAll(ctx, works)
	if err != nil {
		if terr := t.takeBack(ctx, batch, err); terr != nil {
			return false, terr
		}
		return false, t.recordInterrupted(ctx, batch, outcomes, err)
	}
	return t.record(ctx, batch, outcomes)
}

// recordInterrupted keeps the outcomes that are known of a batch that the end of
// its attempt interrupted, so that the next one need not wonder.
func (t *turn) recordInterrupted(ctx context.Context, batch []*call, outcomes []outcome, cause error) error {
	var known []*call
	var results []outcome
	for i, o := range outcomes {
		if o.result.Text != "" && !o.unknown {
			known, results = append(known, batch[i]), append(results, o)
		}
	}
	if _, err := t.record(ctx, known, results); err != nil {
		t.fx.Log().WarnContext(ctx, "outcomes of an interrupted turn were not recorded", "execution", t.claim.Execution, "error", err)
		if errors.Is(err, store.ErrFenced) {
			return err
		}
	}
	return cause
}

// work is a prepared call: its registration, when it has still to be made, and
// what produces the outcome.
type work struct {
	start *store.ToolStart
	run   func(context.Context) (outcome, error)
}

// runAll runs calls at once. Beside an error the outcomes of those stand that
// came to one.
func (t *turn) runAll(ctx context.Context, works []work) ([]outcome, error) {
	outcomes := make([]outcome, len(works))
	errs := make([]error, len(works))
	slots := make(chan struct{}, t.opt.Parallel)
	var all sync.WaitGroup
	for i, w := range works {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			began := t.fx.Now()
			outcomes[i], errs[i] = guard(ctx, w.run)
			outcomes[i].took = max(0, t.fx.Now().Sub(began))
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}

// prepare decides how a call comes to its outcome, in view of what an earlier
// attempt may have done.
func (t *turn) prepare(ctx context.Context, c *call) (work, error) {
	if c.tool == nil {
		return done(outcome{result: tool.Result{IsError: true, Text: t.noSuchTool(c.Call.GetName())}}), nil
	}
	if c.Started {
		if w, decided, err := t.resume(ctx, c); decided || err != nil {
			return w, err
		}
	}
	class := c.class()
	if refused := t.denied(c, class); refused != "" {
		return done(outcome{result: tool.Fail("%s", refused)}), nil
	}
	env, err := t.env(ctx, c)
	if err != nil {
		return work{}, err
	}
	input := c.input()
	start := &store.ToolStart{CallID: c.id(), Class: string(class), Event: t.startEvent(c, class)}
	if files, ok := c.tool.(tool.FilesTool); ok {
		return t.prepareFiles(ctx, c, files, env, start)
	}
	file, ok := c.tool.(tool.FileTool)
	if !ok {
		return work{start: start, run: func(ctx context.Context) (outcome, error) {
			r, err := c.tool.Run(ctx, env, input)
			return outcome{result: r}, err
		}}, nil
	}
	m, refused, err := file.Prepare(ctx, env, input)
	if err != nil {
		return work{}, err
	}
	if m == nil {
		return work{start: start, run: func(context.Context) (outcome, error) { return outcome{result: refused}, nil }}, nil
	}
	start.Mutation = &ledgerv1.Mutation{Path: m.Path, Before: m.Before, After: m.After, Result: m.Result.Text, Summary: m.Result.Summary}
	return work{start: start, run: func(ctx context.Context) (outcome, error) { return commit(ctx, env.Workspace, m) }}, nil
}

func done(o outcome) work {
	return work{run: func(context.Context) (outcome, error) { return o, nil }}
}

func (t *turn) noSuchTool(name string) string {
	names := slices.Sorted(slices.Values(t.claim.Policy.GetTools()))
	if len(names) == 0 {
		return "There is no tool named " + name + ", and this agent has no tools."
	}
	return "There is no tool named " + name + ". The tools are: " + strings.Join(names, ", ") + "."
}

func (t *turn) env(ctx context.Context, c *call) (tool.Env, error) {
	var folder workspace.Workspace
	if c.tool == nil || !c.tool.Spec().NoFiles {
		var err error
		if folder, err = t.openPlace(ctx); err != nil {
			return tool.Env{}, err
		}
	}
	return tool.Env{Session: t.claim.Session, Execution: t.claim.Execution, Workspace: folder, Progress: func(text string) {
		// Progress is a courtesy to people who watch: losing it loses nothing.
		_ = t.fx.Ledger().Append(ctx, t.claim.Fence, []*eventv1.Event{t.event(&eventv1.AgentToolProgress{CallId: c.id(), Text: text})})
	}}, nil
}

// record stores outcomes in the order of the calls.
func (t *turn) record(ctx context.Context, batch []*call, outcomes []outcome) (unknown bool, err error) {
	finishes := make([]store.ToolFinish, 0, len(batch))
	for i, c := range batch {
		o := outcomes[i]
		if o.unknown {
			return true, t.recordUnknown(ctx, c, finishes)
		}
		o.result.Text = t.noted(o.result.Text)
		var k kept
		if err := t.patiently(ctx, func(ctx context.Context) (err error) {
			if k.text, k.artifact, err = t.inline(ctx, c, o.result.Text); err == nil {
				k.files, err = t.keepFiles(ctx, c, o.result.Files)
			}
			return err
		}); err != nil {
			return false, err
		}
		finishes = append(finishes, store.ToolFinish{CallID: c.id(), Event: t.finished(c, o, k), Item: resultItem(c, o, k)})
	}
	if err := t.finishAll(ctx, finishes); err != nil {
		return false, err
	}
	for _, c := range batch {
		c.recorded = true
	}
	return false, nil
}

func (t *turn) finishAll(ctx context.Context, finishes []store.ToolFinish) error {
	if len(finishes) == 0 {
		return nil
	}
	if err := t.persist(ctx, finishes); err != nil {
		return err
	}
	for _, f := range finishes {
		t.history = append(t.history, f.Item)
	}
	return nil
}

// Waits between tries to record outcomes in a store that fails, for instance
// because its disk is full: what is known now would be unknown to the next attempt.
const (
	firstPersist   = 200 * time.Millisecond
	longestPersist = 2 * time.Second
)

// persist records outcomes, whether or not ctx has ended, since they are known.
func (t *turn) persist(ctx context.Context, finishes []store.ToolFinish) error {
	return t.patiently(ctx, func(ctx context.Context) error {
		return t.fx.Ledger().FinishTools(ctx, t.claim.Fence, finishes)
	})
}

// patiently writes what is known, and tries again for a while when the store or the
// artifacts fail. Only a server that stops ends it earlier: another attempt that owns
// the turn would fence the write.
func (t *turn) patiently(ctx context.Context, write func(context.Context) error) error {
	keep := context.WithoutCancel(ctx)
	err := write(keep)
	if !isOurs(err) {
		return err
	}
	end := time.NewTimer(t.opt.Patience)
	defer end.Stop()
	for wait := firstPersist; isOurs(err) && !errors.Is(context.Cause(ctx), engine.ErrStopping); wait = min(2*wait, longestPersist) {
		select {
		case <-end.C:
			return err
		case <-time.After(wait):
		}
		if err = write(keep); fault.ReasonOf(err) == "TOOL_CALL_CLOSED" {
			return nil // the try before had reached the disk
		}
	}
	return err
}

// recordUnknown notes that nobody knows a call's outcome, for the settlement to
// say. The call stays open: a person, or the next message, decides.
func (t *turn) recordUnknown(ctx context.Context, c *call, before []store.ToolFinish) error {
	t.unknown = c
	return t.finishAll(ctx, before)
}

// kept is a result as the history holds it.
type kept struct {
	text     string
	artifact string // that holds the whole text when it is shortened
	files    []*messagev1.Attachment
}

func (t *turn) finished(c *call, o outcome, k kept) *eventv1.Event {
	if o.result.IsError {
		return t.event(&eventv1.AgentToolFailed{CallId: c.id(), Name: c.Call.GetName(), Result: k.text, DurationMs: o.took.Milliseconds()})
	}
	return t.event(&eventv1.AgentToolCompleted{
		CallId: c.id(), Name: c.Call.GetName(), Result: k.text, DurationMs: o.took.Milliseconds(), ArtifactId: k.artifact, Recovered: o.recovered,
		Summary: o.result.Summary, Attachments: k.files,
	})
}

func resultItem(c *call, o outcome, k kept) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{
		CallId: c.id(), Name: c.Call.GetName(), Text: k.text, IsError: o.result.IsError, ArtifactId: k.artifact, Attachments: k.files,
	}}}
}
