package sandboxes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	sandboxv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/sandbox/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// How often what a command printed is looked at, how long a hold lasts that a server which
// died cannot end, and how often it is renewed.
const (
	lookEvery = 50 * time.Millisecond
	holdTime  = 10 * time.Minute
	holdEvery = 3 * time.Minute
)

// How long a command has to end by itself when its caller leaves, and how long that may take
// to be proven.
const (
	endGrace  = 2 * time.Second
	proofTime = 15 * time.Second
)

// session refuses one that is not there: a slip of the pen would start a sandbox for it.
func (s service) session(ctx context.Context, r *pipeline.Request) error {
	_, err := s.Store.Get(ctx, resourcev1.ResourceKind_session, r.Message.(*sandboxv1.ExecSandboxRequest).GetId())
	return err
}

// exec runs a command in a session's sandbox until it ends or its caller leaves.
func (s service) exec(ctx context.Context, r *pipeline.Request, send func(proto.Message) error) error {
	in := r.Message.(*sandboxv1.ExecSandboxRequest)
	use := lane.Use{Session: in.GetId(), Holder: id.New("exec"), Until: s.Now().Add(holdTime)}
	w, err := s.o.Leases.Open(ctx, use)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	p, err := w.Start(ctx, workspace.Command{ID: use.Holder, Session: in.GetId(), Execution: use.Holder, Line: in.GetCommand()})
	if err != nil {
		return err
	}
	err = s.follow(ctx, p, send, func() error {
		use.Until = s.Now().Add(holdTime)
		return s.o.Leases.Keep(ctx, use)
	})
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), proofTime)
	defer cancel()
	if eerr := p.End(end, endGrace); err == nil {
		err = eerr
	}
	return err
}

// follow sends what a process prints until it has ended.
func (s service) follow(ctx context.Context, p workspace.Process, send func(proto.Message) error, keep func() error) error {
	look, hold := time.NewTicker(lookEvery), time.NewTicker(holdEvery)
	defer look.Stop()
	defer hold.Stop()
	for from := int64(0); ; {
		ended := false
		select {
		case <-p.Done():
			ended = true // and what is read below is all
		case <-look.C:
		case <-hold.C:
			if err := keep(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		out := p.Output(from)
		from = out.Next
		for _, m := range pieces(out) {
			if err := send(m); err != nil {
				return err
			}
		}
		if ended {
			e := p.Exit()
			return send(&sandboxv1.ExecSandboxOutput{Exit: &sandboxv1.ExecSandboxExit{Code: int32(e.Code), Signal: e.Signal}}) //nolint:gosec // an exit code
		}
	}
}

// pieces are the parts of an output, around what was not kept.
func pieces(out workspace.Output) (all []*sandboxv1.ExecSandboxOutput) {
	if out.Gap > 0 {
		all = append(all, &sandboxv1.ExecSandboxOutput{Text: out.Text[:out.Gap]})
	}
	if rest := out.Text[out.Gap:]; len(rest) > 0 || out.Lost > 0 {
		all = append(all, &sandboxv1.ExecSandboxOutput{Text: rest, Lost: out.Lost})
	}
	return all
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func sortByKey(all []*sandboxv1.Sandbox) {
	slices.SortFunc(all, func(a, b *sandboxv1.Sandbox) int {
		return cmp.Or(cmp.Compare(a.GetScope(), b.GetScope()), cmp.Compare(a.GetId(), b.GetId()))
	})
}
