package model

import (
	"context"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// Compactor is an ability of a Model: its provider makes a history shorter by itself, in a
// form that only this provider can read. A Model without it is asked for a summary in words.
type Compactor interface {
	// Compaction names what each such request declares: the provider's feature, and the
	// implementation whose form the history then has.
	Compaction() (feature, implementation string)
	// Compact has the history of req made shorter. The request declares Feature and
	// Implementation, never repeats itself, and changes nothing here. An error is as of
	// Model.Ask.
	Compact(ctx context.Context, req CompactRequest) (Compacted, error)
	// Recoverable tells whether an error of Compact may pass, so that the same request may
	// succeed later. It is asked of nothing else.
	Recoverable(err error) bool
}

// CompactRequest asks for a shorter history.
type CompactRequest struct {
	Request
	Feature        string
	Implementation string
}

// Compacted is what stands for the history.
type Compacted struct {
	Items      []*messagev1.Item // in the provider's form; not empty
	ResponseID string            // may be ""
	Usage      *messagev1.Usage  // nil when the provider told none
}
