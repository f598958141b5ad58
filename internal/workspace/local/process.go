package local

import (
	"context"
	"sync"
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
	output  output

	mu     sync.Mutex
	reader string // who asked last for what was unread
	from   int64  // where that one began
	next   int64  // and ended
}

func (p *process) Command() workspace.Command { return p.command }

func (p *process) Started() time.Time { return p.tree.Started() }

func (p *process) Output(from int64) workspace.Output { return p.output.since(from) }

func (p *process) Unread(reader string) workspace.Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	if reader != p.reader {
		p.reader, p.from = reader, p.next
	}
	out := p.output.since(p.from)
	p.next = out.Next
	return out
}

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

// How much of a process's output is kept, in bytes: its beginning and its end.
const (
	keptHead = 512 << 10
	keptTail = 1536 << 10
)

// output keeps the beginning and the end of a stream. Safe for concurrent use.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	start int    // of the ring
	total int64
}

// Write keeps what it can of data and never fails.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(data)
	o.total += int64(n)
	if room := keptHead - len(o.head); room > 0 {
		take := min(room, len(data))
		o.head = append(o.head, data[:take]...)
		data = data[take:]
	}
	if len(data) > keptTail {
		data = data[len(data)-keptTail:]
	}
	if grow := min(keptTail-len(o.tail), len(data)); grow > 0 {
		o.tail = append(o.tail, data[:grow]...)
		data = data[grow:]
	}
	for len(data) > 0 {
		k := copy(o.tail[o.start:], data)
		o.start = (o.start + k) % keptTail
		data = data[k:]
	}
	return n, nil
}

// since answers what is kept from an offset on.
func (o *output) since(from int64) workspace.Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	from = max(0, min(from, o.total))
	out := workspace.Output{Next: o.total}
	if h := int64(len(o.head)); from < h {
		out.Text = append(out.Text, o.head[from:]...)
		from = h
	}
	begin := o.total - int64(len(o.tail)) // the offset of the tail's first byte
	if from < begin {
		out.Gap, out.Lost = len(out.Text), begin-from
		from = begin
	}
	skip := int(from - begin)
	older, newer := o.tail[o.start:], o.tail[:o.start]
	out.Text = append(out.Text, older[min(skip, len(older)):]...)
	out.Text = append(out.Text, newer[max(0, skip-len(older)):]...)
	return out
}
