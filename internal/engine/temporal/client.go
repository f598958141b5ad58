package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/cadre-dev/cadre/internal/engine"
)

const (
	// taskTimeout is how long a workflow task may be with a worker before the server
	// hands it out again. A peek that takes longer keeps it alive. After a crash it is
	// what a session waits for that was just being decided about; on a machine that is
	// too busy to answer in time, work is done twice.
	taskTimeout = 4 * time.Second

	openSessions   = 1000 // kept in memory between their tasks; more cost a replay
	attemptsAtOnce = 500
	callsAtOnce    = 500
	pollers        = 8
	wakesAtOnce    = 16 // more would only wait inside the server, where they time out
	abandonAtOnce  = 16
	callTimeout    = 10 * time.Second
)

// processOnce holds what the SDK keeps for the whole process. Without a checksum
// of ours it would read the whole program file at each start.
var processOnce sync.Once

func setProcess() {
	worker.SetBinaryChecksum("cadre")
	worker.SetStickyWorkflowCacheSize(openSessions)
}

// connection is a client of a server, embedded or not, with a worker on it.
type connection struct {
	client client.Client
	worker worker.Worker // nil until startWorker
	lines  *lines
	to     target
	room   chan struct{} // for wakes at once

	namespaceSeen string // the id of the namespace when an external server was reached last
}

// target says where a server is, how to speak with it, and which part of it is ours.
type target struct {
	address   string
	namespace string
	queue     string // of tasks; nobody else takes them
	identity  string // tells this start from others
	headers   headersProvider
	options   client.ConnectionOptions
}

// headersProvider is what the SDK takes as the source of a client's headers.
type headersProvider interface {
	GetHeaders(ctx context.Context) (map[string]string, error)
}

// connect answers a client that has said nothing yet.
func connect(to target, l *lines) (*connection, error) {
	processOnce.Do(setProcess)
	to.options.GrpcCompression = &client.GrpcCompressionNone{} // small messages cost more than it saves
	c, err := client.NewLazyClient(client.Options{
		HostPort:                to.address,
		Namespace:               to.namespace,
		Identity:                to.identity,
		HeadersProvider:         to.headers,
		Logger:                  clientLines{l},
		WorkerHeartbeatInterval: -1,
		ConnectionOptions:       to.options,
	})
	if err != nil {
		return nil, fmt.Errorf("engine: make a client: %w", err)
	}
	return &connection{client: c, lines: l, to: to, room: make(chan struct{}, wakesAtOnce)}, nil
}

// serving waits until the server takes calls: on a busy machine it says that it has
// started a moment before it does.
func (c *connection) serving(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for {
		_, err := c.client.CheckHealth(ctx, &client.CheckHealthRequest{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("engine: the server does not take calls: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// startWorker starts a worker that works for h.
func (c *connection) startWorker(h *host) error {
	options := workerOptions(c.lines)
	if h.elsewhere {
		options.WorkerStopTimeout = longestAttempt // its attempts go on, and report through it
	}
	w := worker.New(c.client, c.to.queue, options)
	w.RegisterWorkflowWithOptions(h.session, workflow.RegisterOptions{Name: sessionWorkflow})
	w.RegisterActivityWithOptions(h.peek, activity.RegisterOptions{Name: peekActivity})
	w.RegisterActivityWithOptions(h.attempt, activity.RegisterOptions{Name: attemptActivity})
	w.RegisterActivityWithOptions(h.interrupt, activity.RegisterOptions{Name: interruptAct})
	if err := w.Start(); err != nil {
		return fmt.Errorf("engine: start the worker: %w", err)
	}
	c.worker = w
	return nil
}

func workerOptions(l *lines) worker.Options {
	return worker.Options{
		MaxConcurrentActivityExecutionSize:      attemptsAtOnce,
		MaxConcurrentLocalActivityExecutionSize: callsAtOnce,
		MaxConcurrentWorkflowTaskExecutionSize:  callsAtOnce,
		MaxConcurrentActivityTaskPollers:        pollers,
		// Pollers of this kind keep the queues of new and of open sessions apart; the
		// others let open sessions starve new ones.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
			InitialNumberOfPollers: pollers, MinimumNumberOfPollers: pollers, MaximumNumberOfPollers: 4 * pollers,
		}),
		StickyScheduleToStartTimeout: taskTimeout,
		WorkerStopTimeout:            time.Second,
		WorkflowPanicPolicy:          worker.FailWorkflow,
		DeadlockDetectionTimeout:     10 * time.Second, // a busy machine is no deadlock
		DisableRegistrationAliasing:  true,
		OnFatalError: func(err error) {
			l.state.fail(fmt.Errorf("the worker gave itself up: %w", err))
		},
	}
}

// wake signals the session's workflow, starting it when none is open.
func (c *connection) wake(ctx context.Context, session string, revision int64) error {
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := workflowID(session)
	options := client.StartWorkflowOptions{
		ID:                    id,
		TaskQueue:             c.to.queue,
		WorkflowTaskTimeout:   taskTimeout,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
	state := sessionState{Session: session, Seen: revision}
	_, err := c.client.SignalWithStartWorkflow(ctx, id, wakeSignal, revision, options, sessionWorkflow, state)
	return err
}

// abandon fails the activities, some at once. Those that are not known any more
// are passed over.
func (c *connection) abandon(ctx context.Context, refs []engine.ActivityRef) error {
	var all sync.WaitGroup
	failures := make([]error, len(refs))
	room := make(chan struct{}, abandonAtOnce)
	for n, ref := range refs {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			failures[n] = c.abandonOne(ctx, ref)
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

func (c *connection) abandonOne(ctx context.Context, ref engine.ActivityRef) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if ref.Workflow == "" || ref.Activity == "" {
		return nil
	}
	lost := temporal.NewNonRetryableApplicationError("its process died", failureAbandoned, nil)
	err := c.client.CompleteActivityByID(ctx, c.to.namespace, ref.Workflow, ref.Run, ref.Activity, nil, lost)
	var malformed *serviceerror.InvalidArgument
	if isUnknown(err) || errors.As(err, &malformed) {
		return nil
	}
	return err
}

// isUnknown says whether the server has nothing of that name.
func isUnknown(err error) bool {
	var unknown *serviceerror.NotFound
	return errors.As(err, &unknown)
}

func (c *connection) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.lines.state.failure(); err != nil {
		return err
	}
	_, err := c.client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// stopWorker stops the worker; it returns when its tasks have ended or ctx has.
func (c *connection) stopWorker(ctx context.Context) {
	c.lines.state.quiet.Store(true)
	if c.worker == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.worker.Stop()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
