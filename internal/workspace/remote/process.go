package remote

import (
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/internal/wire"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// mostKept bounds how many ended background processes of a sandbox can still be read here.
const mostKept = 64

// process mirrors one that runs inside.
type process struct {
	link    *Link
	command workspace.Command
	boot    string // of the program that runs it
	started time.Time
	tape    workspace.Tape
	done    chan struct{}
	exit    workspace.Exit // valid after done
}

var _ workspace.Process = (*process)(nil)

// mirror follows a process from its beginning.
func (k *Link) mirror(c workspace.Command, boot string, started time.Time) *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := key(c.Session, c.ID)
	if p := k.running[name]; p != nil && p.boot == boot {
		return p
	}
	p := &process{link: k, command: c, boot: boot, started: started, done: make(chan struct{})}
	k.running[name] = p
	go p.follow()
	return p
}

// lostExit is how a process ended whose sandbox is gone.
var lostExit = workspace.Exit{Code: 137, Signal: "SIGKILL"}

// follow reads until the end of the process, of its program or of the link.
func (p *process) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.link.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		exit, err := p.watch(ctx)
		if err == nil {
			p.end(exit)
			return
		}
		if wire.Problem(err) != nil || ctx.Err() != nil || !p.same(ctx) {
			p.end(lostExit)
			return
		}
	}
}

// same waits for the program inside and tells whether it is the one that runs the process.
func (p *process) same(ctx context.Context) bool {
	for ctx.Err() == nil {
		if hello, err := p.link.Hello(ctx); err == nil {
			return hello.GetBoot() == p.boot
		}
	}
	return false
}

// watch reads on from what is there. Without an error the process has ended.
func (p *process) watch(ctx context.Context) (workspace.Exit, error) {
	stream, err := p.link.client.Watch(ctx, connect.NewRequest(&handsv1.WatchRequest{Session: p.command.Session, Id: p.command.ID, From: p.tape.Total()}))
	if err != nil {
		return workspace.Exit{}, err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		m := stream.Msg()
		p.tape.Skip(m.GetLost())
		_, _ = p.tape.Write(m.GetText())
		if e := m.GetExit(); e != nil {
			return workspace.Exit{Code: int(e.GetCode()), Signal: e.GetSignal(), Ended: e.GetEnded()}, nil
		}
	}
	if err := stream.Err(); err != nil {
		return workspace.Exit{}, err
	}
	return workspace.Exit{}, workspace.ErrFailed // it ended without an exit
}

func (p *process) end(e workspace.Exit) {
	p.exit = e
	close(p.done)
	k := p.link
	k.mu.Lock()
	defer k.mu.Unlock()
	drop := p
	if p.command.Background {
		k.kept = append(k.kept, p)
		if len(k.kept) <= mostKept {
			return
		}
		drop, k.kept = k.kept[0], slices.Delete(k.kept, 0, 1)
	}
	if name := key(drop.command.Session, drop.command.ID); k.running[name] == drop {
		delete(k.running, name)
	}
}

func (p *process) Command() workspace.Command { return p.command }

func (p *process) Started() time.Time { return p.started }

func (p *process) Output(from int64) workspace.Output { return p.tape.Since(from) }

func (p *process) Unread(reader string) workspace.Output { return p.tape.Unread(reader) }

func (p *process) Done() <-chan struct{} { return p.done }

func (p *process) Exit() workspace.Exit { return p.exit }

// End ends the tree and waits until its end has arrived here.
func (p *process) End(ctx context.Context, grace time.Duration) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if _, err := ask(ctx, p.link, p.link.client.End, &handsv1.EndRequest{Session: p.command.Session, Id: p.command.ID, Grace: durationpb.New(grace)}); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
