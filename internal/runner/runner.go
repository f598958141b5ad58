// Package runner executes attempts in this process: it freezes the policy,
// claims, runs the turn and knows which attempts are alive here.
//
// Promise: an attempt that Alive denies works no more on this node. Cancel
// reaches a running attempt by a channel, at once.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
)

// Runner runs attempts. Safe for concurrent use. Make it with New.
type Runner struct {
	store   store.Store
	effects turn.Effects
	boot    string
	node    string
	opt     turn.Options
	beat    time.Duration
	boxed   bool
	hosts   func(sessionv1.ExecutionTarget) error
	log     *slog.Logger

	mu   sync.Mutex
	live map[string]*attempt // by attempt id
	// excused counts, by execution, attempts that ended because the store failed: they do
	// not count as attempts without progress.
	excused map[string]int32
}

type attempt struct {
	session   string
	execution string
	cancel    context.CancelCauseFunc
	done      chan struct{}
}

// Options of a Runner.
type Options struct {
	Store     store.Store
	Effects   turn.Effects
	BootEpoch string // identifies this process in attempts
	Node      string // identifies this server, where several share the store
	Turn      turn.Options
	Heartbeat time.Duration // default 5 s
	Sandboxes bool          // tools work in sandboxes, and never on this machine
	// Refuse refuses runs with a target that nothing here can take; nil for none.
	Refuse func(sessionv1.ExecutionTarget) error
	Log    *slog.Logger
}

// maxRedispatches is how often a turn is tried again whose attempts end one
// after the other without progress.
const maxRedispatches = 3

var errLost = fault.New(fault.Unavailable, "ATTEMPTS_LOST",
	"the turn's attempts ended four times in a row without progress; the server's log says why. Send the message again when that is mended").Retry()

// New makes a Runner.
func New(o Options) *Runner {
	if o.Heartbeat == 0 {
		o.Heartbeat = 5 * time.Second
	}
	return &Runner{
		store: o.Store, effects: o.Effects, boot: o.BootEpoch, node: o.Node, opt: o.Turn, beat: o.Heartbeat, boxed: o.Sandboxes, hosts: o.Refuse, log: o.Log,
		live: map[string]*attempt{}, excused: map[string]int32{},
	}
}

// Run executes one attempt. gone names the attempt before it that was proven to
// work no more, "" when there was none. store.ErrNoWork and store.ErrOwned mean
// that somebody was faster; the caller peeks again.
func (r *Runner) Run(ctx context.Context, a engine.Attempt, gone string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	me := &attempt{session: a.Session, execution: a.Execution, cancel: cancel, done: make(chan struct{})}
	r.enter(a.ID, me)
	defer r.leave(a.ID, me)
	stop := r.heartbeat(ctx, a.Heartbeat)
	defer stop()

	policy, refusal, err := r.policy(ctx, a)
	if err != nil {
		return err
	}
	claimed, err := r.store.Claim(ctx, store.Claim{
		Session: a.Session, Execution: a.Execution, Attempt: a.ID, BootEpoch: r.boot, Node: r.node, Gone: gone,
		Workflow: a.Activity.Workflow, Run: a.Activity.Run, Activity: a.Activity.Activity,
		Policy: policy, Now: r.effects.Now(), Events: r.claimEvents(policy),
	})
	if err != nil {
		return err
	}
	r.log.InfoContext(ctx, "turn claimed", "session", a.Session, "execution", a.Execution, "attempt", a.ID, "generation", claimed.Generation)
	if refusal != nil && claimed.First {
		return r.refuse(ctx, claimed, refusal)
	}
	if claimed.Redispatches-r.pardon(a.Execution, claimed.Redispatches) > maxRedispatches {
		return r.refuse(ctx, claimed, errLost)
	}
	err = turn.Run(ctx, r.effects, claimed, r.opt)
	r.excuse(a.Execution, err)
	return err
}

// excuse notes an attempt that ended because the store failed.
func (r *Runner) excuse(execution string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if store.Failed(err) {
		r.excused[execution]++
	} else {
		delete(r.excused, execution)
	}
}

// pardon answers how many of the attempts that a turn lost without progress are excused.
func (r *Runner) pardon(execution string, lost int32) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost == 0 { // there was progress
		delete(r.excused, execution)
	}
	return min(r.excused[execution], lost)
}

// claimEvents are what a claim adds to the log: the turn started, or it was
// found without an owner and goes on.
func (r *Runner) claimEvents(p *ledgerv1.ExecutionPolicy) func(store.Taken) []*eventv1.Event {
	return func(how store.Taken) []*eventv1.Event {
		now := r.effects.Now()
		if !how.First {
			return []*eventv1.Event{event.New(now, &eventv1.TurnRecoveryRequested{Reason: how.Reason, LostGeneration: how.Lost})}
		}
		return []*eventv1.Event{
			event.New(now, &eventv1.TurnStarted{Model: p.GetModel(), Provider: p.GetProvider(), Effort: p.GetEffort(), Tools: p.GetTools()}),
		}
	}
}

// refuse ends a turn whose policy could not be frozen, for instance because its
// agent is gone.
func (r *Runner) refuse(ctx context.Context, c store.Claimed, refusal error) error {
	told := toldOf(refusal)
	return r.store.Settle(ctx, c.Fence, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_failed, Error: told, Now: r.effects.Now(),
		Events: func(sum store.Totals) []*eventv1.Event {
			return []*eventv1.Event{event.New(r.effects.Now(), &eventv1.TurnFailed{Error: told, Usage: sum.Usage})}
		},
	})
}

// policy reads what the first claim freezes. A refusal is an error of the turn,
// err one of the platform.
func (r *Runner) policy(ctx context.Context, a engine.Attempt) (p *ledgerv1.ExecutionPolicy, refusal, err error) {
	x, s, agent := &agentexecutionv1.AgentExecution{}, &sessionv1.Session{}, &agentv1.Agent{}
	if err := r.read(ctx, resourcev1.ResourceKind_agent_execution, a.Execution, x); err != nil {
		return nil, nil, err
	}
	if err := r.read(ctx, resourcev1.ResourceKind_session, a.Session, s); err != nil {
		return nil, nil, err
	}
	provider, _, _ := model.ParseName(x.GetSpec().GetModel())
	p = &ledgerv1.ExecutionPolicy{
		Model: x.GetSpec().GetModel(), Provider: provider, Effort: x.GetSpec().GetEffort(),
		AgentId: x.GetSpec().GetAgentId(), Workspace: s.GetSpec().GetWorkspace().GetLocal().GetPath(), Approve: x.GetSpec().GetApprove(),
		OutputSchema: x.GetSpec().GetOutputSchema(), Record: x.GetSpec().GetRecord(),
	}
	if err := r.read(ctx, resourcev1.ResourceKind_agent, p.AgentId, agent); err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			return p, err, nil
		}
		return nil, nil, err
	}
	p.Tools, p.Limits = agent.GetSpec().GetTools(), agent.GetSpec().GetLimits()
	refusal = r.placed(p, s, x)
	p.AgentVersion = agent.GetMetadata().GetVersion().GetNumber()
	p.Instructions = turn.Instructions(agent.GetSpec().GetInstructions(), p.Workspace, p.Sandbox)
	p.Member = x.GetMetadata().GetAudit().GetCreated().GetBy()
	if err := r.goal(ctx, a.Session, p); err != nil {
		return nil, nil, err
	}
	if p.ModelFingerprint, err = r.effects.Fingerprint(ctx, p.Model); err != nil && refusal == nil {
		refusal = err
	}
	p.DefinitionHash = turn.DefinitionHash(p)
	return p, refusal, nil
}

func (r *Runner) read(ctx context.Context, kind resourcev1.ResourceKind, id string, m proto.Message) error {
	row, err := r.store.Get(ctx, kind, id)
	if err != nil {
		return err
	}
	return proto.Unmarshal(row.Data, m)
}

// heartbeat tells the engine that the attempt lives, until stop is called.
func (r *Runner) heartbeat(ctx context.Context, beat func()) (stop func()) {
	if beat == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(r.beat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				beat()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (r *Runner) enter(id string, a *attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[id] = a
}

func (r *Runner) leave(id string, a *attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, id)
	close(a.done)
}

// Alive says whether the attempt works on this node now.
func (r *Runner) Alive(attempt string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[attempt] != nil
}

// Cancel ends the attempt that the fence names, when it runs here.
func (r *Runner) Cancel(f store.Fence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.live[f.Attempt]; a != nil {
		a.cancel(turn.ErrCancelled)
	}
}

// Running counts the attempts on this node.
func (r *Runner) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.live)
}

// IsRace says whether an attempt ended because another one was faster.
func IsRace(err error) bool {
	return errors.Is(err, store.ErrNoWork) || errors.Is(err, store.ErrOwned) || errors.Is(err, store.ErrFenced)
}
