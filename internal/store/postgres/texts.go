package postgres

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
)

// texts rewrites statements from `?` to numbered parameters and remembers them.
type texts struct {
	known sync.Map // text to text
}

// mostTexts bounds what is remembered: filters by label have texts of their own.
const mostLabelText = "resource_labels l"

func (t *texts) of(q string) string {
	if known, ok := t.known.Load(q); ok {
		return known.(string)
	}
	numbered := number(q)
	if !strings.Contains(q, mostLabelText) {
		t.known.Store(q, numbered)
	}
	return numbered
}

// number writes $1, $2 … for the question marks outside of quotes.
func number(q string) string {
	var b strings.Builder
	b.Grow(len(q) + 16)
	n, quoted := 0, false
	for i := range len(q) {
		switch c := q[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c == '?' && !quoted:
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// keyed puts what has the same key in one order within this process, so that
// transactions of one session wait here and not on connections.
type keyed struct {
	stripes [256]sync.Mutex
}

var seed = maphash.MakeSeed()

// lock waits for the key and answers what frees it; no key waits for nothing.
func (k *keyed) lock(key string) (unlock func()) {
	if key == "" {
		return func() {}
	}
	m := &k.stripes[maphash.String(seed, key)%uint64(len(k.stripes))]
	m.Lock()
	return m.Unlock
}
