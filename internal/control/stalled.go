package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	// stallsKept is how long what was found of silent servers is told again without a look.
	stallsKept = time.Second
	// stallsTime bounds one look, since others wait for it.
	stallsTime = 2 * time.Second
)

// stalls are the sessions whose turns wait for servers that are silent, as they were
// found last.
type stalls struct {
	mu    sync.Mutex
	at    time.Time // zero before the first look
	found []stall
}

// stall is a silent server with the sessions that wait for it.
type stall struct {
	node     store.Node
	sessions map[string]bool
}

// Stalled says why a session's turn does not go on although it runs: the server that works
// on it is silent, and only there can be seen that its commands have ended. "" when that is
// not so. What it says may be a second old.
func (c *Control) Stalled(ctx context.Context, session string) (string, error) {
	all, err := c.silentServers(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if s.sessions[session] {
			return s.tell("this session waits"), nil
		}
	}
	return "", nil
}

// Notices tells of each silent server how many sessions wait for it. What it says may be a
// second old.
func (c *Control) Notices(ctx context.Context) []string {
	all, err := c.silentServers(ctx)
	if err != nil {
		return nil // health says what is wrong with the store
	}
	var texts []string
	for _, s := range all {
		waits := "1 session waits"
		if n := len(s.sessions); n > 1 {
			waits = fmt.Sprintf("%d sessions wait", n)
		}
		texts = append(texts, s.tell(waits))
	}
	return texts
}

func (s stall) tell(waits string) string {
	n := s.node
	if n.Boot == "" {
		return fmt.Sprintf("server %s is gone, and %s for it: start it again with its data folder, or, when it never comes back, say so with `cadre nodes forget %s`", n.ID, waits, n.ID)
	}
	return fmt.Sprintf("server %s on host %s was not heard for %s, and %s for it: start it again with its data folder, or, when it never comes back, say so with `cadre nodes forget %s`",
		n.ID, n.Host, n.Silent.Round(time.Second), waits, n.ID)
}

// silentServers looks at the ledger at most once in a while, however many ask.
func (c *Control) silentServers(ctx context.Context) ([]stall, error) {
	if c.Shared == nil {
		return nil, nil
	}
	c.stalls.mu.Lock()
	defer c.stalls.mu.Unlock()
	if now := c.Now(); !c.stalls.at.IsZero() && now.Sub(c.stalls.at).Abs() < stallsKept {
		return c.stalls.found, nil
	}
	defer func() { c.stalls.at = c.Now() }()
	ctx, cancel := context.WithTimeout(ctx, stallsTime)
	defer cancel()
	nodes, err := c.Shared.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	live, err := c.Store.LiveAttempts(ctx)
	if err != nil {
		return nil, err
	}
	c.stalls.found = stallsOf(nodes, live, c.Node)
	return c.stalls.found, nil
}

// stallsOf joins attempts with the servers that they are of. An attempt of this server is
// never stalled: this server knows itself what became of it.
func stallsOf(nodes []store.Node, live []store.LiveAttempt, self string) []stall {
	known := map[string]store.Node{}
	for _, n := range nodes {
		known[n.ID] = n
	}
	silent := map[string]stall{}
	for _, a := range live {
		n, is := known[a.Node]
		if a.Node == self || is && n.Alive() {
			continue
		}
		if !is {
			n = store.Node{ID: a.Node}
		}
		if _, is := silent[n.ID]; !is {
			silent[n.ID] = stall{n, map[string]bool{}}
		}
		silent[n.ID].sessions[a.Session] = true
	}
	var all []stall
	for _, id := range slices.Sorted(maps.Keys(silent)) {
		all = append(all, silent[id])
	}
	return all
}
