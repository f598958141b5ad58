package anthropic

import (
	"context"
	"errors"
	"iter"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/cadre-dev/cadre/internal/model"
)

// tailWait is how long an answer that has ended waits for the end of its stream: what
// comes behind the end is an error, and a server that keeps the connection is none.
const tailWait = 500 * time.Millisecond

// claude is one model. Safe for concurrent use.
type claude struct {
	id, key  string
	messages sdk.MessageService
}

// Ask sends a request, once.
func (m *claude) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(model.Hiding(ctx, m.key), func(ctx context.Context, give func(model.Part) bool) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream := m.messages.NewStreaming(model.OnSent(ctx, req.Sent), params(m.id, req))
		defer stream.Close()
		a := answer{give: give, open: map[int64]*block{}}
		var tail *time.Timer
		for stream.Next() {
			if err := a.take(stream.Current()); err != nil {
				return explain(err)
			}
			if a.over && tail == nil {
				tail = time.AfterFunc(tailWait, cancel)
				defer tail.Stop()
			}
		}
		if a.over {
			return a.end()
		}
		return explain(stream.Err())
	})
}

// explain makes the neutral error of what the SDK gives. nil stays nil.
func explain(err error) error {
	var said *sdk.Error
	if errors.As(err, &said) {
		return model.FromEvent([]byte(said.RawJSON()))
	}
	return err // one of the transport, or the bytes were no stream
}
