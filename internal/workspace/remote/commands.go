package remote

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/internal/wire"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Start runs a command, once: the program inside starts an id once, so that asking it
// again after a broken connection is safe as long as it is the same run of it.
func (f *Folder) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	k := f.link
	q := &handsv1.StartRequest{Command: wire.Command(c)}
	to, err := k.Hello(ctx)
	for range again {
		if err != nil {
			break
		}
		var res *connect.Response[handsv1.StartResponse]
		if res, err = k.client.Start(ctx, connect.NewRequest(q)); err == nil {
			return k.mirror(c, res.Msg.GetBoot(), res.Msg.GetStarted().AsTime()), nil
		}
		if p := wire.Problem(err); p != nil && !errors.Is(p, wire.ErrOtherBoot) {
			return nil, p
		}
		if !notSent(err) {
			q.Boot = to.GetBoot() // it is possibly there, and nowhere else may it start
		}
		if ctx.Err() != nil || errors.Is(wire.Problem(err), wire.ErrOtherBoot) {
			break
		}
		_, err = k.Hello(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case q.GetBoot() != "":
		return nil, &workspace.StartUnknown{Err: broken(err)}
	}
	return nil, &workspace.StartUnavailable{Err: broken(err)}
}

// Process finds a process that the session started.
func (f *Folder) Process(session, id string) (workspace.Process, error) {
	k := f.link
	k.mu.Lock()
	p := k.running[key(session, id)]
	k.mu.Unlock()
	if p != nil {
		return p, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.patience)
	defer cancel()
	hello, err := k.Hello(ctx)
	if err != nil {
		return nil, err
	}
	res, err := ask(ctx, k, k.client.Find, &handsv1.FindRequest{Session: session, Id: id})
	if err != nil {
		return nil, err
	}
	return k.mirror(wire.ReadCommand(res.GetCommand()), hello.GetBoot(), res.GetStarted().AsTime()), nil
}

// End ends the processes of an execution, or with "" those of the whole session, and
// returns when the program inside has proven them gone. Forget drops what they printed.
func (k *Link) End(ctx context.Context, session, execution string, forget bool) error {
	_, err := ask(ctx, k, k.client.End, &handsv1.EndRequest{Session: session, Execution: execution, Forget: forget, Grace: durationpb.New(endGrace)})
	return err
}

// endGrace is how long a tree has to end by itself when its turn is cancelled.
const endGrace = 200 * time.Millisecond

func key(session, id string) string { return session + "\x00" + id }
