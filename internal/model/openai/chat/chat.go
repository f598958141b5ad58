// Package chat is the model provider for Chat Completions: OpenAI's own, and that of
// the hosts which are compatible with it, each a row of data in hosts.go.
//
// Each request carries the whole history and is sent once. An answer counts as whole
// when the host has given its finish reason; a call of a tool whose arguments were
// cut never leaves here. What a host seals goes back to that host alone.
//
// Images go as data URLs beside a user's words; a tool's message holds none, so that
// those of results follow in a message of the user's. An answer is held to a schema
// strictly where the schema is of the dialect that model.StrictSchema describes; to
// another one it keeps as well as the model can.
//
// Of OpenAI's SDK only the reader of streams is used: the hosts' departures stand in
// fields that its types do not have, and its types for this wire bring all of its
// other services along.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
)

// provider is its name in models' names and in the history.
const provider = "openai-chat"

// Registration is the provider's line in the standard list.
var Registration = model.Registration{Name: provider, Open: func(env func(string) string) (model.Provider, error) { return New(env), nil }}

// Provider opens models. Safe for concurrent use.
type Provider struct {
	env    func(name string) string
	client *http.Client
}

// New makes the provider; env reads a variable of the environment.
func New(env func(name string) string) *Provider {
	return &Provider{env: env, client: model.HTTPClient()}
}

// Open gives a model; the id is `<host>/<the host's own id>`. A fault lists the hosts
// when there is no such one, and names the variable that is missing or wrong.
func (p *Provider) Open(_ context.Context, id string) (model.Model, error) {
	name, inner, ok := strings.Cut(id, "/")
	if !ok || name == "" || inner == "" {
		return nil, fault.New(fault.InvalidArgument, "MODEL_NAME_INVALID", "the model %q is not well named: write openai-chat:<host>/<id>", provider+":"+id)
	}
	h, err := find(name)
	if err != nil {
		return nil, err
	}
	e, err := h.endpoint(p.env, inner)
	if err != nil {
		return nil, err
	}
	return asker{id: inner, host: h, endpoint: e, client: p.client}, nil
}

// Fingerprint has nothing to tell: only the host knows what stands behind an id.
func (p *Provider) Fingerprint(context.Context, string) (string, error) { return "", nil }

// asker asks one model of one host.
type asker struct {
	id       string
	host     host
	endpoint sdk.Endpoint
	client   *http.Client
}

// Ask sends a request and reads its stream.
func (a asker) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(model.Hiding(ctx, a.endpoint.Key), func(ctx context.Context, give func(model.Part) bool) error {
		ctx, cancel := context.WithCancel(model.OnSent(ctx, req.Sent))
		defer cancel()
		res, err := a.post(ctx, req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		r := &reader{host: a.host, give: give}
		if err := readStream(cancel, res, r); err != nil {
			return err
		}
		return r.end()
	})
}

// post sends a request. The client makes an error of what is no good response.
func (a asker) post(ctx context.Context, req model.Request) (*http.Response, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(a.host.request(a.id, req)); err != nil {
		return nil, &model.Error{Category: model.BadRequest, Message: model.Bounded(fmt.Sprintf("the request cannot be written: %v", err))}
	}
	url := strings.TrimRight(a.endpoint.Base, "/") + "/chat/completions"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return nil, &model.Error{Category: model.BadRequest, Message: "the host's base URL makes no request"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if a.endpoint.Key != "" {
		r.Header.Set("Authorization", "Bearer "+a.endpoint.Key)
	}
	if a.host.quirks.requestID && req.RequestID != "" {
		r.Header.Set("X-Client-Request-Id", req.RequestID)
	}
	return a.client.Do(r)
}

// readStream has r read the events of a response.
func readStream(cancel context.CancelFunc, res *http.Response, r *reader) error {
	return sdk.Read[chunk](cancel, &events{decoder: ssestream.NewDecoder(res)}, r.event)
}
