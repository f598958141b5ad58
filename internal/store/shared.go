package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Shared is what a store adds that several servers write at once.
type Shared interface {
	// OnHint names the function that is told how far logs have come that other servers
	// write, and the one that says of which sessions and roots of trees somebody here
	// wants to know. A hint may come late, twice or without need, and never not at all.
	// Neither may block. Set it before the first use.
	OnHint(tell func(Hint), watched func() []string)
	// Join makes this server known. A server that was here before under the same id is
	// gone: the caller holds the lock of its data folder.
	Join(ctx context.Context, n Node) error
	// Beat says that this server lives, and answers the others that do. One that was
	// taken off meanwhile is known again, without an engine: rejoined. ErrNodeTaken when
	// another process took its id.
	Beat(ctx context.Context, id string) (others []Node, rejoined bool, err error)
	// BindEngine makes an engine the one that this database's sessions run on, unless a
	// living server runs them on another one: ErrOtherEngine. It answers the engine
	// before.
	BindEngine(ctx context.Context, id, engine string) (before string, err error)
	// Leave takes a server off.
	Leave(ctx context.Context, id string) error
	// Nodes answers all servers that were not taken off, the silent ones included.
	Nodes(ctx context.Context) ([]Node, error)
}

// Hint says how far a session's log has come, and that of its tree.
type Hint struct {
	Session string
	Root    string
	Seq     int64
	TreeSeq int64 // of the root
}

// Node is a server that works on this database.
type Node struct {
	ID     string // of its data folder
	Boot   string // of its process
	Host   string
	Engine string // that it runs sessions on; "" when it runs none
	Seen   time.Time
	Silent time.Duration // since Seen, by the database's clock
}

// Alive tells whether a server was heard lately.
func (n Node) Alive() bool { return n.Silent < NodeGone }

// NodeGone is the silence after which a server is not taken for alive.
const NodeGone = 15 * time.Second

// ErrOtherEngine: a living server runs the sessions of this database on another engine.
var ErrOtherEngine = fault.New(fault.FailedPrecondition, "OTHER_ENGINE", "another server runs the sessions of this database on another engine")

// ErrNodeTaken: another process says that it is this server.
var ErrNodeTaken = fault.New(fault.FailedPrecondition, "NODE_TAKEN",
	"another process says that it is this server: their data folders are copies of one another. Stop one of them, and remove node.id from its folder")
