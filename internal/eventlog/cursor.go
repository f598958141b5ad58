package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// Filter narrows a log. It belongs to the cursor.
type Filter struct {
	Types       []string // type names, or families that end in `.*`; nil for all
	DurableOnly bool     // leaves out frames without an id
	Tree        bool     // the session's whole tree, in the order of tree_seq
	MaxDepth    int32    // deepest level of a tree; negative for all
}

// All is the filter that lets everything of one session through.
var All = Filter{MaxDepth: -1}

// digest identifies the filter in cursors.
func (f Filter) digest() string {
	types := slices.Sorted(slices.Values(f.Types))
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %t %t %d", slices.Compact(types), f.DurableOnly, f.Tree, f.MaxDepth)))
	return hex.EncodeToString(sum[:4])
}

// matches says whether a type passes.
func (f Filter) matches(typ string) bool {
	if len(f.Types) == 0 {
		return true
	}
	return slices.ContainsFunc(f.Types, func(want string) bool {
		family, isFamily := strings.CutSuffix(want, "*")
		return typ == want || isFamily && strings.HasPrefix(typ, family)
	})
}

// check refuses filters that mean nothing.
func (f Filter) check() error {
	for _, t := range f.Types {
		star := strings.IndexByte(t, '*')
		if star >= 0 && (star != len(t)-1 || !strings.HasSuffix(t, ".*")) {
			return fault.New(fault.InvalidArgument, "BAD_EVENT_TYPE", "%q is no event type: write a name such as turn.completed, or a family such as agent.tool.*", t)
		}
	}
	if f.MaxDepth > 0 && !f.Tree {
		return fault.New(fault.InvalidArgument, "BAD_FILTER", "max_depth needs tree")
	}
	return nil
}

func (f Filter) orderOf(e *eventv1.Event) int64 {
	if f.Tree {
		return e.GetTreeSeq()
	}
	return e.GetSeq()
}

// Cursor makes the id of an event under this filter.
func (f Filter) Cursor(order int64) string { return f.cursors(0)(order) }

// cursors is Cursor for many events: the filter's digest is made once. Before the
// horizon a cursor says that its reader knows that events up to there were removed.
func (f Filter) cursors(horizon int64) func(order int64) string {
	suffix := "." + f.digest()
	told := suffix + "." + strconv.FormatInt(horizon, 10)
	return func(order int64) string {
		if order < horizon {
			return strconv.FormatInt(order, 10) + told
		}
		return strconv.FormatInt(order, 10) + suffix
	}
}

// Parse reads a cursor: an id that a stream with the same filter gave, a bare
// number, or "" for the beginning. One of another filter is refused.
func (f Filter) Parse(cursor string) (int64, error) {
	at, err := f.parse(cursor)
	return at.order, err
}

// position is what a cursor says.
type position struct {
	order   int64
	horizon int64 // up to which its reader knows that events were removed
}

func (f Filter) parse(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	number, rest, named := strings.Cut(cursor, ".")
	digest, told, has := strings.Cut(rest, ".")
	order, err := strconv.ParseInt(number, 10, 64)
	at := position{order: order}
	if has && err == nil {
		at.horizon, err = strconv.ParseInt(told, 10, 64)
	}
	if err != nil || order < 0 || at.horizon < 0 || named && len(digest) != 8 {
		return position{}, fault.New(fault.InvalidArgument, "BAD_CURSOR", "%q is no cursor: give the id of an event frame, or a number", cursor)
	}
	if named && digest != f.digest() {
		return position{}, fault.New(fault.InvalidArgument, "CURSOR_OF_OTHER_FILTER", "the cursor %q belongs to a stream with another filter: use the same filter, or begin anew", cursor)
	}
	return at, nil
}
