package search

import (
	"context"
	"log/slog"
	"time"

	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Options of an indexer. The zero value of a duration means its default.
type Options struct {
	DB    Database
	Index Index
	Known *Registry
	Now   func() time.Time
	Log   *slog.Logger
	// Gather is how long a change waits for others, unless somebody searches. Default 100 ms.
	Gather time.Duration
	// Poll is how often it is looked for changes that nobody told of. Default 10 s.
	Poll time.Duration
	// Lease is how long a rebuild belongs to an indexer that says nothing. Default 30 s.
	Lease time.Duration
	// Linger is how long an index that was replaced stays for searches in progress.
	// Default 5 s.
	Linger time.Duration
}

// Indexer brings changes into the index, and fills it anew when the extractors are
// other ones. Several, in several processes, may work on one database. Make it with
// NewIndexer.
type Indexer struct {
	db     Database
	index  Index
	known  *Registry
	now    func() time.Time
	log    *slog.Logger
	opt    Options
	me     string
	hint   chan struct{}      // something changed
	ask    chan chan struct{} // somebody waits for the end of a sweep
	cancel context.CancelFunc
	done   chan struct{}
	filled chan struct{} // closed once the index is that of these extractors

	rebuild rebuild
}

// NewIndexer makes one that does nothing until Start.
func NewIndexer(o Options) *Indexer {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Gather, 100*time.Millisecond)
	def(&o.Poll, 10*time.Second)
	def(&o.Lease, 30*time.Second)
	def(&o.Linger, 5*time.Second)
	return &Indexer{
		db: o.DB, index: o.Index, known: o.Known, now: o.Now, log: o.Log, opt: o, me: id.New("idx"),
		hint: make(chan struct{}, 1), ask: make(chan chan struct{}), done: make(chan struct{}), filled: make(chan struct{}),
	}
}

// Start begins to work until Stop.
func (i *Indexer) Start(ctx context.Context) {
	ctx, i.cancel = context.WithCancel(context.WithoutCancel(ctx))
	i.db.OnChange(i.wake)
	go i.run(ctx)
}

// Stop ends the work and waits for its end. What is not indexed is at the next start.
func (i *Indexer) Stop() {
	if i.cancel == nil {
		return
	}
	i.cancel()
	<-i.done
}

// Filled is closed once the index is the one that these extractors make. Searches are
// answered before that from what was there.
func (i *Indexer) Filled() <-chan struct{} { return i.filled }

// wake tells of a change. It never blocks.
func (i *Indexer) wake() {
	select {
	case i.hint <- struct{}{}:
	default:
	}
}

// Fresh waits until what is dirty now is indexed, for at most a second.
func (i *Indexer) Fresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, freshTime)
	defer cancel()
	swept := make(chan struct{})
	select {
	case i.ask <- swept:
	case <-i.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-swept:
	case <-i.done:
	case <-ctx.Done():
	}
}

// run is the loop: changes first, then a step of a rebuild, then rest.
func (i *Indexer) run(ctx context.Context) {
	defer close(i.done)
	var waiting []chan struct{}
	for ctx.Err() == nil {
		i.must(ctx, "sweep", i.sweep(ctx))
		for _, w := range waiting {
			close(w)
		}
		busy, err := i.rebuild.step(ctx, i)
		i.must(ctx, "rebuild", err)
		waiting = i.rest(ctx, busy && err == nil)
	}
}

func (i *Indexer) must(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		i.log.WarnContext(ctx, "search index is behind; it is tried again", "part", what, "error", err)
	}
}

// rest waits for something to do and answers who waits for it. A rebuild that has more
// to do does not rest.
func (i *Indexer) rest(ctx context.Context, busy bool) []chan struct{} {
	if busy {
		return i.asked(nil)
	}
	wait := i.opt.Poll
	if due := i.rebuild.due.Sub(i.now()); !i.rebuild.due.IsZero() {
		wait = min(wait, max(due, 0))
	}
	poll := time.NewTimer(wait)
	defer poll.Stop()
	select {
	case <-ctx.Done():
	case <-poll.C:
	case w := <-i.ask:
		return i.asked([]chan struct{}{w})
	case <-i.hint:
		return i.gather(ctx)
	}
	return nil
}

// gather lets changes that come together be indexed together.
func (i *Indexer) gather(ctx context.Context) []chan struct{} {
	more := time.NewTimer(i.opt.Gather)
	defer more.Stop()
	select {
	case <-ctx.Done():
	case <-more.C:
	case w := <-i.ask:
		return i.asked([]chan struct{}{w})
	}
	return nil
}

// asked adds those who wait already.
func (i *Indexer) asked(all []chan struct{}) []chan struct{} {
	for {
		select {
		case w := <-i.ask:
			all = append(all, w)
		default:
			return all
		}
	}
}

// read is where the indexer reads.
func (i *Indexer) read(ctx context.Context) sqldb.Querier { return i.db.Read(ctx) }
