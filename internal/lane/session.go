package lane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

// Run is a turn that was started.
type Run struct {
	Execution string
	Session   string // "" when it has none
	Org       string
	Queue     string // the override; "" for the session's own lane
}

// StampPrefix begins the error of a run whose sandbox could not be made. It is part of
// the contract.
const StampPrefix = "Sandbox provisioning failed: "

// StampCode is the error's code.
const StampCode = "sandbox_provisioning_failed"

// stampLimit bounds the cause in a stamp, in bytes.
const stampLimit = 1024

// EnsureSession makes the sandbox of a session whose run was started, where the sandbox
// hosts it. It never fails the run: what went wrong stands in the log, and on the run
// unless something stands there already.
func (l *Lane) EnsureSession(ctx context.Context, r Run, c Caller) {
	if l == nil || !l.o.Settings.InSandbox || r.Session == "" || r.Queue != "" {
		return
	}
	ctx = context.WithoutCancel(ctx) // the run is accepted, whether its caller waits or not
	if err := l.ensureSession(ctx, r, c); err != nil {
		l.o.Log.ErrorContext(ctx, "session sandbox cannot be made; the run times out unless a runner comes to its queue",
			"execution", r.Execution, "session", r.Session, "error", err)
		l.stamp(ctx, r.Execution, err)
	}
}

func (l *Lane) ensureSession(ctx context.Context, r Run, c Caller) (err error) {
	defer caught(&err)
	d, err := l.dispatch(ctx, r.Session)
	if err != nil || !d.Cloud {
		return err
	}
	if d.Queue != SessionQueue(r.Session) {
		l.o.Log.WarnContext(ctx, "session sandbox is not made: its runs are sent to a queue that all share",
			"execution", r.Execution, "session", r.Session, "queue", d.Queue)
		return nil
	}
	token, err := l.token(ctx, MintRequest{Scope: sandbox.Session, Session: r.Session, Execution: r.Execution, Org: r.Org, Caller: c.ID})
	if err != nil {
		return err
	}
	return masked(l.o.Provisioner.EnsureSession(ctx, r.Session, sandbox.NewEnv(d.Queue, token, c.Class)), token)
}

// masked takes a token out of what a driver says.
func masked(err error, token string) error {
	if err == nil || token == "" || !strings.Contains(err.Error(), token) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), token, "***REDACTED***"))
}

// caught makes an error of a panic, whatever it was thrown with: a driver may be another's.
func caught(err *error) {
	if thrown := recover(); thrown != nil {
		*err = fmt.Errorf("%v", thrown)
	}
}

// dispatch reads the session anew: what earlier steps read may be of another time.
func (l *Lane) dispatch(ctx context.Context, session string) (Dispatch, error) {
	row, err := l.o.Store.Get(ctx, resourcev1.ResourceKind_session, session)
	if err != nil {
		return Dispatch{}, err
	}
	m := &sessionv1.Session{}
	if err := proto.Unmarshal(row.Data, m); err != nil {
		return Dispatch{}, err
	}
	return l.o.Settings.session(session, m.GetSpec().GetExecutionTarget()), nil
}

// stamp writes the cause onto the run in one atomic update, only where no error stands,
// and nothing else of it.
func (l *Lane) stamp(ctx context.Context, execution string, cause error) {
	_, err := l.o.Store.Update(ctx, resourcev1.ResourceKind_agent_execution, execution, nil, func(row store.Row) (store.Row, error) {
		m := &agentexecutionv1.AgentExecution{}
		if err := proto.Unmarshal(row.Data, m); err != nil {
			return row, err
		}
		if m.GetStatus().GetError() != nil {
			return row, errStamped
		}
		if m.Status == nil {
			m.Status = &agentexecutionv1.AgentExecutionStatus{}
		}
		m.Status.Error = &agentexecutionv1.ExecutionError{Code: StampCode, Message: StampPrefix + bounded(cause)}
		var err error
		row.Data, err = proto.Marshal(m)
		return row, err
	})
	if err != nil && !errors.Is(err, errStamped) {
		l.o.Log.ErrorContext(ctx, "the cause cannot be written onto the run", "execution", execution, "cause", cause, "error", err)
	}
}

var errStamped = errors.New("an error stands there already")

// bounded is a cause's message, at most stampLimit bytes. A fault's inner cause is for the
// log alone.
func bounded(cause error) string {
	text := cause.Error()
	var f *fault.Fault
	if errors.As(cause, &f) {
		text = f.Message
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= stampLimit {
		return text
	}
	cut := stampLimit - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// SessionDeleted removes the session's sandbox, in either placement. A failure is logged;
// the delete stands.
func (l *Lane) SessionDeleted(ctx context.Context, session string) {
	if l == nil || session == "" {
		return
	}
	k := sandbox.Key{Scope: sandbox.Session, ID: session}
	remove := l.deprovision
	if l.o.Leases != nil {
		remove = func(ctx context.Context, k sandbox.Key) error {
			return l.o.Leases.Stop(ctx, k, Ending{Held: true, Remove: true})
		}
	}
	if err := remove(context.WithoutCancel(ctx), k); err != nil {
		l.o.Log.ErrorContext(ctx, "sandbox of a deleted session cannot be removed, and may be left over", "session", session, "error", err)
	}
}

func (l *Lane) deprovision(ctx context.Context, k sandbox.Key) (err error) {
	defer caught(&err)
	return l.o.Provisioner.Deprovision(ctx, k)
}
