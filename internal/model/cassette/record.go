package cassette

import (
	"context"
	"errors"
	"iter"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// Record makes a model that asks m and appends the traffic of each request to the
// cassette at path, an absolute one. name is m's full name; a file with the
// recording of another model is refused before anything is sent.
//
// An exchange is on the disk before the answer's Done part, or its error, is given.
// A question that the caller left before its end leaves nothing. A model that does
// not use model.HTTPClient cannot be recorded: its answer ends in a fault.
func Record(m model.Model, name, path string) model.Model { return recorder{m, name, path} }

type recorder struct {
	inner model.Model
	name  string
	path  string
}

// Ask asks and records.
func (r recorder) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := prepare(r.path, r.name); err != nil {
			yield(model.Part{}, err)
			return
		}
		t := newTape(req)
		var done model.Part
		var failed error
		for part, err := range r.inner.Ask(model.WithTransport(ctx, t.wrap), req) {
			switch {
			case err != nil:
				failed = err
			case part.Done != nil:
				done = part
			default:
				if !yield(part, nil) {
					return
				}
			}
		}
		r.end(ctx, yield, t, done, failed)
	}
}

// end writes what was heard and gives the end of the answer.
func (r recorder) end(ctx context.Context, yield func(model.Part, error) bool, t *tape, done model.Part, failed error) {
	if failed != nil && ctx.Err() != nil {
		yield(model.Part{}, failed)
		return
	}
	all, err := t.exchanges(failed == nil)
	switch {
	case err == nil && len(all) == 0 && failed == nil:
		err = fault.New(fault.FailedPrecondition, "NOTHING_TO_RECORD",
			"the model %s sends nothing over HTTP, so that there is nothing to record: name one that does, or record nothing", r.name)
	case err == nil:
		err = store(r.path, r.name, all)
	default:
		err = unwritable(r.path, err)
	}
	switch {
	case failed != nil && err == nil:
		yield(model.Part{}, failed)
	case failed != nil:
		yield(model.Part{}, errors.Join(failed, err)) // what the provider said stands first
	case err != nil:
		yield(model.Part{}, err)
	case done.Done != nil:
		yield(done, nil)
	}
}
