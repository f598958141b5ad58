package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
)

// tailWait is how long an answer that has ended waits for the end of its stream: what
// comes behind the end is an error, and a server that keeps the connection is none.
const tailWait = 500 * time.Millisecond

// gemini is one model. Safe for concurrent use.
type gemini struct {
	id, key, url string
	client       *http.Client
}

// Ask sends a request, once.
func (m *gemini) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(model.Hiding(ctx, m.key), func(ctx context.Context, give func(model.Part) bool) error {
		ctx, cancel := context.WithCancel(model.OnSent(ctx, req.Sent))
		defer cancel()
		res, err := m.send(ctx, req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		return read(newEvents(res.Body), &answer{give: give}, cancel)
	})
}

// send posts a request; the response is a good one.
func (m *gemini) send(ctx context.Context, req model.Request) (*http.Response, error) {
	data, err := body(m.id, req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("X-Goog-Api-Key", m.key)
	return m.client.Do(r)
}

// read takes the events of an answer up to the end of their stream, or a while behind
// the answer's own end, when cancel ends the stream.
func read(e *events, a *answer, cancel context.CancelFunc) error {
	var tail *time.Timer
	for {
		data, err := e.next()
		switch {
		case err != nil && a.over:
			return a.end()
		case errors.Is(err, io.EOF):
			return e.failure() // nil has no end either: model.Stream says so
		case err != nil:
			return err
		}
		if err := a.take(data); err != nil {
			return err
		}
		if a.over && tail == nil {
			tail = time.AfterFunc(tailWait, cancel)
			defer tail.Stop()
		}
	}
}
