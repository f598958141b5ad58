package workspace

import "sync"

// How much of a process's output a Tape keeps, in bytes: its beginning and its end.
const (
	keptHead = 512 << 10
	keptTail = 1536 << 10
)

// Tape keeps the beginning and the end of what a process prints. Its zero value is ready.
// Safe for concurrent use.
type Tape struct {
	mu    sync.Mutex
	head  []byte
	whole bool   // the head takes no more
	tail  []byte // a ring once it is full
	start int    // of the ring
	total int64
	more  chan struct{} // closed by the next change; nil while nobody waits

	reader string // who asked last for what was unread
	from   int64  // where that one began
	next   int64  // and ended
}

// Write keeps what it can of data and never fails.
func (o *Tape) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(data)
	o.grow(int64(n))
	if room := keptHead - len(o.head); room > 0 && !o.whole {
		take := min(room, len(data))
		o.head = append(o.head, data[:take]...)
		data = data[take:]
	}
	if len(data) > 0 {
		o.whole = true
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

// Skip notes that n bytes were printed which nobody has.
func (o *Tape) Skip(n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n <= 0 {
		return
	}
	o.whole, o.tail, o.start = true, nil, 0
	o.grow(n)
}

func (o *Tape) grow(n int64) {
	o.total += n
	if o.more != nil && n > 0 {
		close(o.more)
		o.more = nil
	}
}

// More is closed when there is something behind an offset.
func (o *Tape) More(from int64) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.total > from {
		return closed
	}
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return o.more
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Total is how many bytes were printed.
func (o *Tape) Total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// Since answers what is kept from an offset on.
func (o *Tape) Since(from int64) Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.since(from)
}

// Unread is Since from where the reader before this one ended. The same reader, asking
// again, gets what it got and what came since.
func (o *Tape) Unread(reader string) Output {
	o.mu.Lock()
	defer o.mu.Unlock()
	if reader != o.reader {
		o.reader, o.from = reader, o.next
	}
	out := o.since(o.from)
	o.next = out.Next
	return out
}

func (o *Tape) since(from int64) Output {
	from = max(0, min(from, o.total))
	out := Output{Next: o.total}
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
