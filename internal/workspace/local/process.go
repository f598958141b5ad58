package local

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// endGrace is how long a tree has to end by itself before it is killed when its
// turn is cancelled: short, since a cancel arrives within half a second.
const endGrace = 200 * time.Millisecond

// process is one command of a session.
type process struct {
	command workspace.Command
	tree    *proctree.Tree
	output  workspace.Tape
}

func (p *process) Command() workspace.Command { return p.command }

func (p *process) Started() time.Time { return p.tree.Started() }

func (p *process) Output(from int64) workspace.Output { return p.output.Since(from) }

func (p *process) Unread(reader string) workspace.Output { return p.output.Unread(reader) }

// More is closed when there is output behind an offset.
func (p *process) More(from int64) <-chan struct{} { return p.output.More(from) }

func (p *process) Done() <-chan struct{} { return p.tree.Done() }

func (p *process) Exit() workspace.Exit { return workspace.Exit(p.tree.Exit()) }

func (p *process) End(ctx context.Context, grace time.Duration) error { return p.tree.End(ctx, grace) }

func (p *process) ended() bool {
	select {
	case <-p.tree.Done():
		return true
	default:
		return false
	}
}
