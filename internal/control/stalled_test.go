package control

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// crew is a shared store that knows servers and attempts.
type crew struct {
	store.Store
	store.Shared
	nodes []store.Node
	live  []store.LiveAttempt
	err   error
	looks atomic.Int32
}

func (c *crew) Nodes(context.Context) ([]store.Node, error) {
	c.looks.Add(1)
	return c.nodes, c.err
}

func (c *crew) LiveAttempts(context.Context) ([]store.LiveAttempt, error) { return c.live, nil }

func attemptOf(node, session string) store.LiveAttempt {
	return store.LiveAttempt{Fence: store.Fence{Session: session}, Node: node}
}

// A session whose server is silent says so, with the server's name and what to do; one
// whose server lives, this one included, does not.
func TestASessionOfASilentServerIsStalled(t *testing.T) {
	t.Parallel()
	c := &crew{
		nodes: []store.Node{
			{ID: "nod_me", Boot: "b", Host: "here", Silent: time.Hour}, // it did not beat for long, and knows best itself
			{ID: "nod_well", Boot: "b", Host: "there", Silent: time.Second},
			{ID: "nod_dead", Boot: "b", Host: "rack7", Silent: 42 * time.Second},
			{ID: "nod_idle", Boot: "b", Host: "rack8", Silent: time.Hour},
		},
		live: []store.LiveAttempt{
			attemptOf("nod_me", "ses_me"), attemptOf("nod_well", "ses_well"), attemptOf("nod_dead", "ses_a"), attemptOf("nod_dead", "ses_b"), attemptOf("nod_left", "ses_c"),
		},
	}
	now := time.Unix(1000, 0)
	control := New(Options{Store: c, Shared: c, Node: "nod_me", Now: func() time.Time { return now }})
	for session, wants := range map[string][]string{
		"ses_me": nil, "ses_well": nil, "ses_none": nil,
		"ses_a": {"nod_dead", "rack7", "42s", "`cadre nodes forget nod_dead`"},
		"ses_c": {"nod_left is gone", "`cadre nodes forget nod_left`"},
	} {
		said, err := control.Stalled(t.Context(), session)
		if err != nil || wants == nil && said != "" || wants != nil && said == "" {
			t.Errorf("%s: %q, %v", session, said, err)
		}
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q lacks %q", session, said, want)
			}
		}
	}
	notices := control.Notices(t.Context())
	if len(notices) != 2 || !strings.Contains(notices[0], "nod_dead") || !strings.Contains(notices[0], "2 sessions wait") || !strings.Contains(notices[1], "1 session waits") {
		t.Errorf("the notices are %q", notices)
	}
	if n := c.looks.Load(); n != 1 {
		t.Errorf("the database was looked at %d times within a second", n)
	}
	c.nodes[2].Silent, c.live = 0, c.live[:4]
	now = now.Add(stallsKept)
	if notices := control.Notices(t.Context()); len(notices) != 0 {
		t.Errorf("the server is back, and the notices are %q", notices)
	}
	c.err = errors.New("away")
	now = now.Add(stallsKept)
	if _, err := control.Stalled(t.Context(), "ses_a"); err == nil {
		t.Error("a database that is away was not told of")
	}
}

// A server that has its store for itself has nobody to wait for.
func TestAServerAloneIsNeverStalled(t *testing.T) {
	t.Parallel()
	c := &crew{live: []store.LiveAttempt{attemptOf("", "ses_a")}}
	control := New(Options{Store: c, Now: time.Now})
	if said, err := control.Stalled(t.Context(), "ses_a"); said != "" || err != nil || control.Notices(t.Context()) != nil {
		t.Errorf("got %q, %v", said, err)
	}
}
