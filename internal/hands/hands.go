// Package hands is what works inside a sandbox: it serves the files and commands of one
// folder to the server that it dials. It holds no key and decides nothing.
//
// Promise: an id of a session starts once in the life of this program, however often that
// is asked; a process goes on when the connection breaks and can be read on afterwards;
// what ends is proven gone before that is said.
package hands

import (
	"context"
	"sync"

	"connectrpc.com/connect"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1/handsv1connect"
	"github.com/cadre-dev/cadre/internal/wire"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Hands serves one folder. Safe for concurrent use. Make it with New.
type Hands struct {
	host    Host
	ws      workspace.Workspace
	boot    string
	version string
	uid     int

	mu      sync.Mutex
	started map[string]*started
	ended   []string // keys of processes that have ended, in that order
}

var _ handsv1connect.HandsServiceHandler = (*Hands)(nil)

// Host opens workspaces of the machine inside, and ends what was started in them.
type Host interface {
	Open(path string) (workspace.Workspace, error)
	End(ctx context.Context, session, execution string) error
	Forget(ctx context.Context, session string) error
}

// Options of Hands.
type Options struct {
	Host    Host
	Root    string // the workspace's folder, absolute
	Boot    string // of this run of the program
	Version string
	UID     int
}

// New opens the folder.
func New(o Options) (*Hands, error) {
	w, err := o.Host.Open(o.Root)
	if err != nil {
		return nil, err
	}
	return &Hands{host: o.Host, ws: w, boot: o.Boot, version: o.Version, uid: o.UID, started: map[string]*started{}}, nil
}

// Close releases the folder. Processes are the host's.
func (h *Hands) Close() error { return h.ws.Close() }

// answer is a call's answer or its error on the wire.
func answer[A any](m *A, err error) (*connect.Response[A], error) {
	if err != nil {
		return nil, wire.Error(err)
	}
	return connect.NewResponse(m), nil
}

// Hello says who this is.
func (h *Hands) Hello(context.Context, *connect.Request[handsv1.HelloRequest]) (*connect.Response[handsv1.HelloResponse], error) {
	return answer(&handsv1.HelloResponse{Boot: h.boot, Version: h.version, Root: h.ws.Name(), Uid: int32(h.uid)}, nil) //nolint:gosec // a user id
}

// Read answers a file.
func (h *Hands) Read(ctx context.Context, r *connect.Request[handsv1.ReadRequest]) (*connect.Response[handsv1.ReadResponse], error) {
	data, err := h.ws.Read(ctx, r.Msg.GetPath(), r.Msg.GetLimit())
	return answer(&handsv1.ReadResponse{Data: data}, err)
}

// Stat describes an entry.
func (h *Hands) Stat(ctx context.Context, r *connect.Request[handsv1.StatRequest]) (*connect.Response[handsv1.StatResponse], error) {
	info, err := h.ws.Stat(ctx, r.Msg.GetPath())
	return answer(&handsv1.StatResponse{Info: wire.Info(info)}, err)
}

// List answers a folder's entries.
func (h *Hands) List(ctx context.Context, r *connect.Request[handsv1.ListRequest]) (*connect.Response[handsv1.ListResponse], error) {
	all, err := h.ws.List(ctx, r.Msg.GetPath())
	m := &handsv1.ListResponse{}
	for _, i := range all {
		m.Entries = append(m.Entries, wire.Info(i))
	}
	return answer(m, err)
}

// walkBatch is how many entries one message of a walk holds at most.
const walkBatch = 256

// Walk sends all entries below a folder.
func (h *Hands) Walk(ctx context.Context, r *connect.Request[handsv1.WalkRequest], s *connect.ServerStream[handsv1.WalkResponse]) error {
	m := &handsv1.WalkResponse{}
	for info, err := range h.ws.Walk(ctx, r.Msg.GetPath()) {
		if err != nil {
			if serr := s.Send(m); serr != nil {
				return serr
			}
			return wire.Error(err)
		}
		if m.Entries = append(m.Entries, wire.Info(info)); len(m.Entries) == walkBatch {
			if err := s.Send(m); err != nil {
				return err
			}
			m = &handsv1.WalkResponse{}
		}
	}
	return s.Send(m)
}

// Digest answers the digest of a file.
func (h *Hands) Digest(ctx context.Context, r *connect.Request[handsv1.DigestRequest]) (*connect.Response[handsv1.DigestResponse], error) {
	sum, err := h.ws.Digest(ctx, r.Msg.GetPath())
	return answer(&handsv1.DigestResponse{Digest: sum}, err)
}

// Replace writes or removes a file.
func (h *Hands) Replace(ctx context.Context, r *connect.Request[handsv1.ReplaceRequest]) (*connect.Response[handsv1.ReplaceResponse], error) {
	m := r.Msg
	err := h.ws.Replace(ctx, workspace.Replacement{Path: m.GetPath(), Data: m.GetData(), Before: m.GetBefore(), Remove: m.GetRemove(), Token: m.GetToken()})
	return answer(&handsv1.ReplaceResponse{}, err)
}

// Tidy removes what an interrupted Replace left.
func (h *Hands) Tidy(ctx context.Context, r *connect.Request[handsv1.TidyRequest]) (*connect.Response[handsv1.TidyResponse], error) {
	return answer(&handsv1.TidyResponse{}, h.ws.Tidy(ctx, r.Msg.GetPath(), r.Msg.GetToken()))
}
