// Package sandboxes shows which sandboxes there are and what becomes of them, to the
// operator: it lists them, runs a command in one, stops and collects them. It answers by the
// pipeline's steps.
//
// Promise: what is in use is stopped only with force. A command that was run from outside
// ends with the call that ran it, and its sandbox is held meanwhile.
package sandboxes

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	sandboxv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/sandbox/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/sandbox/v1/sandboxv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

// Options of the service.
type Options struct {
	Driver      string              // its name; "" when the server has no sandboxes
	Provisioner sandbox.Provisioner // nil then
	Leases      *lane.Leases        // nil also in placement runner
	Connected   func(sandbox.Key) bool
	Node        string // this server, as leases name it
	Alone       bool   // there is no other
	// Collect makes one pass of the reaper. Nil without leases.
	Collect func(ctx context.Context) (stopped, removed []sandbox.Key, failed []error)
}

// service answers the verbs.
type service struct {
	pipeline.Deps
	o Options
}

// Verbs are those of the service.
func Verbs(d pipeline.Deps, o Options) []pipeline.Verb {
	s := service{d, o}
	step := func(name string, do func(context.Context, *pipeline.Request) error) pipeline.Step {
		return pipeline.Step{Name: name, Do: do}
	}
	one := func() proto.Message { return &sandboxv1.Sandbox{} }
	view, edit := authorize(d, "view"), authorize(d, "edit")
	return []pipeline.Verb{
		{
			Procedure: sandboxv1connect.SandboxServiceListProcedure, Permission: "view", Output: func() proto.Message { return &sandboxv1.ListSandboxesResponse{} },
			Steps: []pipeline.Step{view, pipeline.Validate(d), step("list", s.list)},
		},
		{
			Procedure: sandboxv1connect.SandboxServiceGetProcedure, Permission: "view", Output: one,
			Steps: []pipeline.Step{view, pipeline.Validate(d), step("read", s.get)},
		},
		{
			Procedure: sandboxv1connect.SandboxServiceExecProcedure, Permission: "edit", Output: func() proto.Message { return &sandboxv1.ExecSandboxOutput{} },
			Steps: []pipeline.Step{edit, pipeline.Validate(d), step("require sandboxes", s.required), step("find session", s.session)}, Stream: s.exec,
		},
		{
			Procedure: sandboxv1connect.SandboxServiceStopProcedure, Permission: "edit", Output: one,
			Steps: []pipeline.Step{edit, pipeline.Validate(d), step("require sandboxes", s.required), step("stop", s.stop)},
		},
		{
			Procedure: sandboxv1connect.SandboxServiceCollectProcedure, Permission: "edit", Output: func() proto.Message { return &sandboxv1.CollectSandboxesResponse{} },
			Steps: []pipeline.Step{edit, pipeline.Validate(d), step("require sandboxes", s.required), step("collect", s.collect)},
		},
	}
}

// authorize asks for a right on the whole server: sandboxes of all organizations lie together.
func authorize(d pipeline.Deps, permission string) pipeline.Step {
	return pipeline.Step{Name: "authorize", Do: func(ctx context.Context, r *pipeline.Request) error {
		return authz.Require(ctx, d.Authz, authz.Question{
			Caller: r.Caller, Permission: permission, Kind: resourcev1.ResourceKind_organization, Org: resource.DefaultOrg, ID: resource.DefaultOrg,
		})
	}}
}

// ErrOff: the server has no sandboxes.
var ErrOff = fault.New(fault.FailedPrecondition, "SANDBOXES_OFF", "this server has no sandboxes: set %s and start it again", sandbox.EnvProvisioner)

func (s service) required(context.Context, *pipeline.Request) error {
	switch {
	case s.o.Provisioner == nil:
		return ErrOff
	case s.o.Leases == nil:
		return fault.New(fault.FailedPrecondition, "SANDBOXES_HOST_RUNS", "sandboxes host whole runs here (%s=runner), and nobody reaches into them: set it to hands", lane.EnvPlacement)
	}
	return nil
}

// most is how many a list shows.
const most = 1000

func (s service) list(ctx context.Context, r *pipeline.Request) error {
	out := &sandboxv1.ListSandboxesResponse{Driver: s.o.Driver}
	r.Answer = out
	if s.o.Provisioner == nil {
		return nil
	}
	leases, err := s.Store.Sandboxes(ctx, store.SandboxKey{}, most+1)
	if err != nil {
		return err
	}
	found, err := s.found(ctx)
	if err != nil {
		return err
	}
	for _, l := range leases {
		k := keyOf(l.SandboxKey)
		out.Sandboxes = append(out.Sandboxes, s.shown(l, found[k]))
		delete(found, k)
	}
	for k, f := range found { // without a lease
		out.Sandboxes = append(out.Sandboxes, s.shown(store.SandboxLease{SandboxKey: rowKey(k), Liveness: store.SandboxCold, Node: s.o.Node, Image: f.Image}, f))
	}
	sortByKey(out.Sandboxes)
	if out.Truncated = len(out.Sandboxes) > most; out.Truncated {
		out.Sandboxes = out.Sandboxes[:most]
	}
	return nil
}

func (s service) found(ctx context.Context) (map[sandbox.Key]sandbox.Found, error) {
	all, err := s.o.Provisioner.List(ctx)
	found := map[sandbox.Key]sandbox.Found{}
	for _, f := range all {
		found[f.Key] = f
	}
	return found, err
}

func keyOf(k store.SandboxKey) sandbox.Key {
	return sandbox.Key{Scope: sandbox.Scope(k.Scope), ID: k.ID}
}

func rowKey(k sandbox.Key) store.SandboxKey {
	return store.SandboxKey{Scope: string(k.Scope), ID: k.ID}
}

func (s service) get(ctx context.Context, r *pipeline.Request) error {
	in := r.Message.(*sandboxv1.GetSandboxRequest)
	m, err := s.one(ctx, named(in.GetScope(), in.GetId()))
	r.Answer = m
	return err
}

// named is the key that a request names.
func named(scope, id string) sandbox.Key {
	if scope == "" {
		scope = string(sandbox.Session)
	}
	return sandbox.Key{Scope: sandbox.Scope(scope), ID: id}
}

// one reads a sandbox; NotFound when neither the store nor the driver knows it.
func (s service) one(ctx context.Context, k sandbox.Key) (*sandboxv1.Sandbox, error) {
	if s.o.Provisioner == nil {
		return nil, ErrOff
	}
	l, err := s.Store.Sandbox(ctx, rowKey(k))
	missing := errors.Is(err, store.ErrNotFound)
	if err != nil && !missing {
		return nil, err
	}
	found, ferr := s.found(ctx)
	if ferr != nil {
		return nil, ferr
	}
	f, seen := found[k]
	switch {
	case missing && !seen:
		return nil, err
	case missing:
		l = store.SandboxLease{SandboxKey: rowKey(k), Liveness: store.SandboxCold, Node: s.o.Node, Image: f.Image}
	}
	return s.shown(l, f), nil
}

// shown is a lease and what the driver sees, as the contract has it.
func (s service) shown(l store.SandboxLease, f sandbox.Found) *sandboxv1.Sandbox {
	m := &sandboxv1.Sandbox{
		Scope: l.Scope, Id: l.ID, Name: f.Name, Epoch: l.Epoch, Image: l.Image, Root: l.Root, State: string(f.State),
		Liveness:  sandboxv1.SandboxLiveness(sandboxv1.SandboxLiveness_value[string(l.Liveness)]),
		WarmSince: stamp(l.Warm), IdleSince: stamp(l.Idle), Deadline: stamp(l.Deadline),
	}
	if !s.o.Alone {
		m.Node = l.Node
	}
	if here := l.Node == "" || l.Node == s.o.Node; here {
		m.Connected = s.o.Connected != nil && s.o.Connected(keyOf(l.SandboxKey))
		if m.State == "" {
			m.State = string(sandbox.Absent)
		}
	}
	for _, h := range l.Holders {
		m.Holders = append(m.Holders, &sandboxv1.SandboxHolder{Id: h.ID, ExecutionId: h.Execution, Until: stamp(h.Until)})
	}
	return m
}

func (s service) stop(ctx context.Context, r *pipeline.Request) error {
	in := r.Message.(*sandboxv1.StopSandboxRequest)
	k := named(in.GetScope(), in.GetId())
	before, err := s.one(ctx, k)
	if err != nil {
		return err
	}
	err = s.o.Leases.Stop(ctx, k, lane.Ending{Held: in.GetForce(), Remove: in.GetRemove()})
	if errors.Is(err, store.ErrSandboxHeld) {
		return store.ErrSandboxHeld.Saying("the sandbox of the session %s is in use: wait until its turn is over, cancel that, or stop it with force, which ends what runs inside", k.ID)
	}
	if err != nil {
		return err
	}
	if in.GetRemove() {
		r.Answer = &sandboxv1.Sandbox{Scope: before.GetScope(), Id: before.GetId(), Liveness: sandboxv1.SandboxLiveness_cold, State: string(sandbox.Absent), Epoch: before.GetEpoch()}
		return nil
	}
	after, err := s.one(ctx, k)
	r.Answer = after
	return err
}

func (s service) collect(ctx context.Context, r *pipeline.Request) error {
	stopped, removed, failed := s.o.Collect(ctx)
	out := &sandboxv1.CollectSandboxesResponse{}
	for _, k := range stopped {
		out.Stopped = append(out.Stopped, k.String())
	}
	for _, k := range removed {
		out.Removed = append(out.Removed, k.String())
	}
	for _, err := range failed {
		out.Failed = append(out.Failed, fault.From(err).Message)
	}
	r.Answer = out
	return nil
}
