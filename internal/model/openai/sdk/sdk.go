// Package sdk is what both of OpenAI's wires need of the official SDK: how it is
// set up, and how what it reports becomes a model.Error.
//
// It reads no variable of the environment by itself and repeats no request.
package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// Endpoint is where requests go.
type Endpoint struct {
	Base string // with the path before `responses` or `chat/completions`
	Key  string // "" sends none
}

// Check answers a fault that names the variable behind a base URL that cannot be one.
func (e Endpoint) Check(variable string) error {
	u, err := url.Parse(e.Base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fault.New(fault.FailedPrecondition, "MODEL_BASE_URL_INVALID",
			"the variable %s does not hold a base URL: write for instance https://host.example/v1", variable).With("variable", variable)
	}
	return nil
}

// Options set the SDK up.
func (e Endpoint) Options(client *http.Client) []option.RequestOption {
	all := []option.RequestOption{option.WithBaseURL(e.Base), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if e.Key != "" {
		all = append(all, option.WithAPIKey(e.Key))
	}
	return all
}

// MissingKey is the fault of a model whose key is not set.
func MissingKey(name, variable string) error {
	return fault.New(fault.FailedPrecondition, "MODEL_KEY_MISSING",
		"the model %s needs a key: set %s where the server runs, and start it again", name, variable).With("variable", variable)
}

// Value reads a variable; space around it, which comes with copying, is no part of it.
func Value(env func(string) string, variable string) string {
	return strings.TrimSpace(env(variable))
}

// behindEnd is how long a stream is read on behind its terminal event. A stream that
// is read to its end leaves a connection that the next request can use.
const behindEnd = 250 * time.Millisecond

// Progress is how far a stream has come.
type Progress int

// The stages of a stream.
const (
	Going Progress = iota
	Whole          // the answer is whole; figures about it may follow
	Ended          // nothing that counts follows
)

// Events is a stream of the SDK, or one like it.
type Events[T any] interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}

// Read hands each event of a stream to event, which tells how far it has come. It
// reads on a little behind the end, so that event can judge what comes there; when
// the stream then neither goes on nor ends, it is left. The error is event's, an
// error that the provider reports, or what broke the stream before it was whole.
func Read[T any](cancel context.CancelFunc, s Events[T], event func(T) (Progress, error)) error {
	defer s.Close()
	at := Going
	for s.Next() {
		now, err := event(s.Current())
		if err != nil {
			return err
		}
		if now == Ended && at != Ended {
			leave := time.AfterFunc(behindEnd, cancel)
			defer leave.Stop()
		}
		at = max(at, now)
	}
	if inside := (*ssestream.StreamError)(nil); errors.As(s.Err(), &inside) {
		return model.FromEvent(inside.Event.Data)
	}
	if at != Going {
		return nil
	}
	return s.Err() // model.Stream makes malformed what is no *model.Error
}

// Object reads a JSON object for the SDK's fields that are maps; what stands inside
// keeps its bytes. It is empty for what is no object.
func Object(raw json.RawMessage) map[string]any {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // the provider judges a schema
	all := make(map[string]any, len(fields))
	for name, value := range fields {
		all[name] = value
	}
	return all
}
