// Package openai is the model provider for OpenAI's Responses API. Its child chat
// speaks Chat Completions, to OpenAI and to the hosts that are compatible with it.
//
// Nothing is stored at the provider: each request carries the whole history, and
// what the model thought goes back as the sealed bytes that the provider gave. A
// request is sent once; who wants another try asks again. The stream counts as whole
// only when its terminal event came.
//
// Images go as data URLs, beside a user's words and in the output of a call. An answer
// is held to a schema strictly where the schema is of the strict dialect that
// model.StrictSchema describes; to another one it keeps as well as the model can.
package openai

import (
	"context"
	"net/http"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
)

// The variables that this provider reads, when a model is opened.
const (
	keyVariable  = "OPENAI_API_KEY"
	baseVariable = "OPENAI_BASE_URL"
	defaultBase  = "https://api.openai.com/v1"
)

// provider is its name in models' names and in the history.
const provider = "openai"

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

// Open gives the model of that id, which is the provider's own. A fault names the
// variable that is missing or wrong.
func (p *Provider) Open(_ context.Context, id string) (model.Model, error) {
	key, err := model.Key(p.env, keyVariable)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, sdk.MissingKey(provider+"/"+id, keyVariable)
	}
	e := sdk.Endpoint{Base: sdk.Value(p.env, baseVariable), Key: key}
	if e.Base == "" {
		e.Base = defaultBase
	}
	if err := e.Check(baseVariable); err != nil {
		return nil, err
	}
	return newModel(id, e.Key, e.Options(p.client)), nil
}

// Fingerprint has nothing to tell: only the provider knows what stands behind an id.
func (p *Provider) Fingerprint(context.Context, string) (string, error) { return "", nil }
