package model

import (
	"context"
	"errors"
	"iter"
)

// Stream makes an answer of a function that produces its parts, and keeps the
// rules of Model.Ask around it:
//
//   - produce runs when the iteration begins, unless ctx has ended;
//   - its ctx ends when the iteration does, whoever ended it, so that the request is
//     cancelled and its connection freed;
//   - give hands a part over; when nobody listens any more it ends produce's ctx and
//     answers false, and produce then returns with whatever error;
//   - an error becomes ctx's cause when ctx has ended, a *Error that says whether parts
//     had come when it is one, and Malformed when it is neither;
//   - a production that ends without Done and without an error is Malformed;
//   - a key that Hiding named is in no error;
//   - usage is one that can be: no figure is negative or absurd, and parts of the input are
//     no more than all of it;
//   - all text in parts and errors becomes valid UTF-8, also where a character was
//     cut between two pieces of text, and a finish reason has at most LabelLimit bytes.
//
// produce must not give anything behind Done.
func Stream(ctx context.Context, produce func(ctx context.Context, give func(Part) bool) error) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if ctx.Err() != nil {
			yield(Part{}, context.Cause(ctx))
			return
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		var started, done, left bool
		clean := cleaner{give: func(p Part) bool {
			if left || inner.Err() != nil {
				return false
			}
			started = started || p.Done == nil
			done = done || p.Done != nil
			if left = !yield(p, nil); left {
				cancel() // a driver that waits for the wire wakes up
			}
			return !left
		}}
		err := produce(inner, clean.part)
		if left || done && err == nil {
			return
		}
		yield(Part{}, ended(ctx, err, started))
	}
}

// ended is the error that ends an answer.
func ended(ctx context.Context, err error, started bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &Error{Category: Malformed, Message: "the stream ended without a terminal event"}
	if found := (*Error)(nil); errors.As(err, &found) {
		e = new(*found) // the caller's own: others may hold the one that was found
	} else if err != nil {
		e.Message = err.Error()
	}
	hide(ctx, e)
	e.Code, e.Type, e.Message = cut(e.Code, LabelLimit), cut(e.Type, LabelLimit), cut(e.Message, MessageLimit)
	e.Started, e.Usage = started, sane(e.Usage)
	return e
}
