// Package limiter says when a request may go to a provider. For each key of a provider
// it lets so many requests go at once, takes the organizations that wait in turn, and
// keeps everybody back while the provider asks to wait.
//
// It promises no order among the requests of one organization, and knows this process
// alone: servers that share a key each have their own.
package limiter

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
)

// Options bound a Limiter. The zero value means the defaults.
type Options struct {
	Most int              // requests of one key at once. Default 256
	Each int              // of them, those of one organization. Default 128
	Now  func() time.Time // the clock. Default time.Now
	// Longest is the longest wait that a provider may ask for; what asks for more is no
	// limit of a rate and keeps nobody back. Default 15 min
	Longest time.Duration
}

// Limiter admits requests. Safe for concurrent use. Make it with New.
type Limiter struct {
	opt  Options
	mu   sync.Mutex
	keys map[string]*lane
}

// lane is what goes to one key of a provider.
type lane struct {
	key     string
	closed  time.Time // nobody goes before
	timer   *time.Timer
	running map[string]int // by organization
	total   int
	waiting map[string][]chan struct{} // by organization, the oldest first
	order   []string                   // organizations that wait, the next one first
}

// New makes a Limiter.
func New(o Options) *Limiter {
	if o.Most == 0 {
		o.Most = 256
	}
	if o.Each == 0 {
		o.Each = 128
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Longest == 0 {
		o.Longest = 15 * time.Minute
	}
	return &Limiter{opt: o, keys: map[string]*lane{}}
}

// Enter waits until a request of an organization to a model may go, or ctx ends. The
// request calls leave once when it is over, with how long the provider asks to wait, 0
// when it does not. Scripts and recordings are not limited.
func (l *Limiter) Enter(ctx context.Context, name, org string) (leave func(wait time.Duration), err error) {
	key := keyOf(name)
	if key == "" {
		return func(time.Duration) {}, nil
	}
	l.mu.Lock()
	k := l.keys[key]
	if k == nil {
		k = &lane{key: key, running: map[string]int{}, waiting: map[string][]chan struct{}{}}
		l.keys[key] = k
	}
	turn := make(chan struct{})
	if len(k.waiting[org]) == 0 {
		k.order = append(k.order, org)
	}
	k.waiting[org] = append(k.waiting[org], turn)
	l.let(k)
	l.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
		if l.withdraw(k, org, turn) {
			return nil, context.Cause(ctx)
		}
	}
	var once sync.Once
	return func(wait time.Duration) { once.Do(func() { l.leave(k, org, wait) }) }, nil
}

// keyOf tells which of a server's keys a model is asked with: each provider, and each
// compatible host, has one. "" for what asks nobody.
func keyOf(name string) string {
	provider, id, err := model.ParseName(name)
	switch {
	case err != nil || provider == "scripted" || provider == "replay":
		return ""
	case provider == "openai-chat":
		host, _, _ := strings.Cut(id, "/")
		return provider + ":" + host
	}
	return provider
}

// let lets go whoever may, the organizations in turn. The lock is held.
func (l *Limiter) let(k *lane) {
	if wait := k.closed.Sub(l.opt.Now()); wait > 0 {
		l.reopen(k, wait)
		return
	}
	for tried := 0; tried < len(k.order) && k.total < l.opt.Most; {
		org := k.order[0]
		k.order = k.order[1:]
		if k.running[org] >= l.opt.Each {
			k.order = append(k.order, org)
			tried++
			continue
		}
		close(k.waiting[org][0])
		k.waiting[org] = k.waiting[org][1:]
		k.running[org]++
		k.total++
		if len(k.waiting[org]) > 0 {
			k.order = append(k.order, org)
		} else {
			delete(k.waiting, org)
		}
		tried = 0
	}
}

// reopen looks again when the wait is over. The lock is held.
func (l *Limiter) reopen(k *lane, wait time.Duration) {
	if k.timer != nil {
		k.timer.Stop()
	}
	k.timer = time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.let(k)
	})
}

func (l *Limiter) leave(k *lane, org string, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.running[org]--; k.running[org] == 0 {
		delete(k.running, org)
	}
	k.total--
	if until := l.opt.Now().Add(wait); wait > 0 && wait <= l.opt.Longest && until.After(k.closed) {
		k.closed = until
	}
	l.let(k)
	if k.total == 0 && len(k.order) == 0 && !k.closed.After(l.opt.Now()) {
		delete(l.keys, k.key)
	}
}

// withdraw takes back a wish to go; false when it was let go already.
func (l *Limiter) withdraw(k *lane, org string, turn chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range k.waiting[org] {
		if c != turn {
			continue
		}
		k.waiting[org] = append(k.waiting[org][:i:i], k.waiting[org][i+1:]...)
		if len(k.waiting[org]) == 0 {
			delete(k.waiting, org)
			for j, o := range k.order {
				if o == org {
					k.order = append(k.order[:j:j], k.order[j+1:]...)
					break
				}
			}
		}
		return true
	}
	return false
}
