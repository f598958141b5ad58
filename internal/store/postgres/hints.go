package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/store"
)

// How hints travel.
const (
	channel     = "cadre_hints"
	hintEvery   = 5 * time.Millisecond // at most one notification in this time
	pollEvery   = 200 * time.Millisecond
	lookEvery   = 2 * time.Second // a poll although hints come: the one who told may have died first
	relisten    = 5 * time.Second
	proofTime   = 2 * time.Second // in which a listener must hear itself
	mostPayload = 7900            // bytes; PostgreSQL takes below 8000
)

// hints tells other servers how far logs have come, outside of the transactions that
// wrote them, and hears what they tell.
type hints struct {
	db     *database
	direct string
	self   string // who tells, so that nobody hears himself

	mu      sync.Mutex
	pending map[string]store.Hint // by session
	kick    chan struct{}         // holds at most one

	tell      atomic.Pointer[func(store.Hint)]
	watched   atomic.Pointer[func() []string]
	listening atomic.Bool
	look      chan struct{} // holds at most one: poll now

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

func startHints(db *database, o Options) (*hints, error) {
	h := &hints{
		db: db, direct: o.Direct, self: id.New("hnt"), pending: map[string]store.Hint{},
		kick: make(chan struct{}, 1), look: make(chan struct{}, 1),
	}
	if h.direct == "" {
		h.direct = o.URL
	}
	if _, err := pgx.ParseConfig(h.direct); err != nil {
		return nil, badURL().Saying("CADRE_DATABASE_DIRECT_URL is no address of a PostgreSQL database: write it as postgres://user:password@host:5432/database")
	}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.work.Go(h.send)
	return h, nil
}

// OnHint begins to listen.
func (d *database) OnHint(tell func(store.Hint), watched func() []string) {
	d.hints.tell.Store(&tell)
	d.hints.watched.Store(&watched)
	d.hints.work.Go(d.hints.listen)
	d.hints.work.Go(d.hints.poll)
}

func (h *hints) stop() {
	h.end()
	h.work.Wait()
}

// note remembers what to tell.
func (h *hints) note(events []*eventv1.Event) {
	h.mu.Lock()
	for _, e := range events {
		n := h.pending[e.GetSessionId()]
		h.pending[e.GetSessionId()] = store.Hint{
			Session: e.GetSessionId(), Root: e.GetRootId(), Seq: max(n.Seq, e.GetSeq()), TreeSeq: max(n.TreeSeq, e.GetTreeSeq()),
		}
	}
	h.mu.Unlock()
	poke(h.kick)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// send tells what is pending, at most once in a while.
func (h *hints) send() {
	for h.wait(h.kick) {
		for _, payload := range h.payloads() {
			if _, err := h.db.pool.Exec(h.ctx, "SELECT pg_notify($1, $2)", channel, payload); err != nil && h.ctx.Err() == nil {
				h.db.log.DebugContext(h.ctx, "hints were not sent; the others look by themselves", "error", err)
			}
		}
		h.pause(hintEvery)
	}
}

// payloads empties what is pending into texts of bounded size.
func (h *hints) payloads() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	text := h.self
	for _, n := range h.pending {
		line := fmt.Sprintf("\n%s %s %d %d", n.Session, n.Root, n.Seq, n.TreeSeq)
		if len(text)+len(line) > mostPayload {
			all, text = append(all, text), h.self
		}
		text += line
	}
	if text != h.self {
		all = append(all, text)
	}
	clear(h.pending)
	return all
}

// listen hears what others tell, on a connection of its own, until the end.
func (h *hints) listen() {
	for h.ctx.Err() == nil {
		err := h.hear()
		h.listening.Store(false)
		if h.ctx.Err() == nil {
			h.db.log.InfoContext(h.ctx, "no hints are heard; logs are polled instead", "error", err)
		}
		h.pause(relisten)
	}
}

func (h *hints) hear() error {
	c, err := pgx.ParseConfig(h.direct)
	if err != nil {
		return err
	}
	c.ConnectTimeout = connectTime
	conn, err := pgx.ConnectConfig(h.ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(h.ctx)) }()
	if _, err := conn.Exec(h.ctx, "LISTEN "+channel, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if err := h.prove(conn); err != nil {
		return err
	}
	h.listening.Store(true)
	poke(h.look) // what was told before
	for {
		n, err := conn.WaitForNotification(h.ctx)
		if err != nil {
			return err
		}
		h.heard(n.Payload)
	}
}

// prove hears itself: behind a pooler in transaction mode it would not.
func (h *hints) prove(conn *pgx.Conn) error {
	if _, err := h.db.pool.Exec(h.ctx, "SELECT pg_notify($1, $2)", channel, h.self); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, proofTime)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if n.Payload == h.self {
			return nil
		}
		h.heard(n.Payload)
	}
}

func (h *hints) heard(payload string) {
	lines := strings.Split(payload, "\n")
	if lines[0] == h.self {
		return
	}
	tell := *h.tell.Load()
	for _, line := range lines[1:] {
		var n store.Hint
		if _, err := fmt.Sscanf(line, "%s %s %d %d", &n.Session, &n.Root, &n.Seq, &n.TreeSeq); err == nil {
			tell(n)
		}
	}
}

// poll looks by itself: often when no hints are heard, and now and then anyway.
func (h *hints) poll() {
	last := time.Now()
	for h.ctx.Err() == nil {
		select {
		case <-h.ctx.Done():
			return
		case <-h.look:
		case <-time.After(pollEvery):
			if h.listening.Load() && time.Since(last) < lookEvery {
				continue
			}
		}
		last = time.Now()
		h.ask((*h.watched.Load())())
	}
}

// ask reads how far the watched logs have come.
func (h *hints) ask(sessions []string) {
	if len(sessions) == 0 {
		return
	}
	rows, err := h.db.pool.Query(h.ctx, "SELECT id, root, last_seq, tree_seq FROM sessions WHERE id = ANY($1)", sessions)
	if err != nil {
		return
	}
	defer rows.Close()
	tell := *h.tell.Load()
	for rows.Next() {
		var n store.Hint
		if err := rows.Scan(&n.Session, &n.Root, &n.Seq, &n.TreeSeq); err != nil {
			return
		}
		if n.Root != n.Session {
			n.TreeSeq = 0 // a session's own count is not that of its tree
		}
		tell(n)
	}
}

func (h *hints) wait(c <-chan struct{}) bool {
	select {
	case <-h.ctx.Done():
		return false
	case <-c:
		return true
	}
}

func (h *hints) pause(d time.Duration) {
	select {
	case <-h.ctx.Done():
	case <-time.After(d):
	}
}
