package lane_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
	"github.com/cadre-dev/cadre/internal/store"
)

// rows is as much of a store as the lane sees.
type rows struct {
	mu     sync.Mutex
	byID   map[string][]byte
	reads  int
	writes int
	refuse error // of writes
	// between runs inside an update, before its change.
	between func()
}

func (r *rows) Get(_ context.Context, _ resource.Kind, id string) (store.Row, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	data, ok := r.byID[id]
	if !ok {
		return store.Row{}, store.ErrNotFound
	}
	return store.Row{ID: id, Data: data}, nil
}

func (r *rows) Update(_ context.Context, _ resource.Kind, id string, _ *store.Once, change func(store.Row) (store.Row, error)) (store.Row, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return store.Row{}, r.refuse
	}
	if r.between != nil {
		r.between()
	}
	row, err := change(store.Row{ID: id, Data: r.byID[id]})
	if err != nil {
		return row, err
	}
	r.writes++
	r.byID[id] = row.Data
	return row, nil
}

func (r *rows) put(t *testing.T, id string, m proto.Message) {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	r.byID[id] = data
}

func (r *rows) execution(t *testing.T, id string) *agentexecutionv1.AgentExecution {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &agentexecutionv1.AgentExecution{}
	if err := proto.Unmarshal(r.byID[id], m); err != nil {
		t.Fatal(err)
	}
	return m
}

// minted notes what it is asked for.
type minted struct {
	mu    sync.Mutex
	asked []lane.MintRequest
	fail  error
}

func (m *minted) Mint(_ context.Context, r lane.MintRequest) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
	return "token-of-" + r.Execution, m.fail
}

// fixture is a lane in placement runner, with a session s whose run is e, of organization
// lark.
type fixture struct {
	*lane.Lane
	fake  *sandboxtest.Fake
	store *rows
	mint  *minted
	log   *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// logged wants one line of a level with all the words.
func (f *fixture) logged(t *testing.T, level string, words ...string) {
	t.Helper()
	for line := range strings.Lines(f.log.String()) {
		all := strings.Contains(line, "level="+level)
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return
		}
	}
	t.Errorf("no line of %s has %q:\n%s", level, words, f.log)
}

// everything sends all to sandboxes.
var everything = lane.Settings{InSandbox: true, PerSession: true, PerExecution: true, Target: sessionv1.ExecutionTarget_local}

func made(t *testing.T, change ...func(*lane.Options)) *fixture {
	t.Helper()
	f := &fixture{fake: sandboxtest.NewFake(), store: &rows{byID: map[string][]byte{}}, mint: &minted{}, log: &syncBuffer{}}
	o := lane.Options{Provisioner: f.fake, Settings: everything, Mint: f.mint, Store: f.store, Log: slog.New(slog.NewTextHandler(f.log, nil))}
	for _, c := range change {
		c(&o)
	}
	f.Lane = lane.New(o)
	f.session(t, sessionv1.ExecutionTarget_cloud)
	f.store.put(t, "e", &agentexecutionv1.AgentExecution{
		Metadata: &resourcev1.Metadata{Id: "e", Org: "lark"},
		Status:   &agentexecutionv1.AgentExecutionStatus{Phase: agentexecutionv1.ExecutionPhase_queued, Generation: 3},
	})
	return f
}

func (f *fixture) session(t *testing.T, target sessionv1.ExecutionTarget) {
	t.Helper()
	f.store.put(t, "s", &sessionv1.Session{Spec: &sessionv1.SessionSpec{ExecutionTarget: target}})
}

var (
	run  = lane.Run{Execution: "e", Session: "s", Org: "lark"}
	user = lane.Caller{Class: identity.User, ID: "ida_5mvw"}
)

func (f *fixture) ensure(r lane.Run, c lane.Caller) { f.EnsureSession(context.Background(), r, c) }

// onlyCall wants exactly one call of the driver.
func (f *fixture) onlyCall(t *testing.T, method string, k sandbox.Key, env sandbox.Env) {
	t.Helper()
	calls := f.fake.Calls()
	if want := (sandboxtest.Call{Method: method, Key: k, Env: env}); len(calls) != 1 || calls[0] != want {
		t.Errorf("the driver was called so: %+v\nwant %+v", calls, want)
	}
}

func (f *fixture) noCall(t *testing.T) {
	t.Helper()
	if calls := f.fake.Calls(); len(calls) > 0 {
		t.Errorf("the driver was called: %+v", calls)
	}
}

func (f *fixture) noStamp(t *testing.T) {
	t.Helper()
	if e := f.store.execution(t, "e").GetStatus().GetError(); e != nil {
		t.Errorf("the run has the error %v", e)
	}
}

func fails(err error) func(*lane.Options) {
	return func(o *lane.Options) {
		o.Provisioner.(*sandboxtest.Fake).Fail = func(sandboxtest.Call) error { return err }
	}
}

func settings(s lane.Settings) func(*lane.Options) { return func(o *lane.Options) { o.Settings = s } }

func clock() time.Time { return time.Unix(1790000000, 0) }
