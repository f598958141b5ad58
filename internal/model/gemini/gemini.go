// Package gemini is the model provider for Google's Generative Language API
// (streamGenerateContent, as server-sent events). It speaks the documented REST
// format itself; docs/dependencies.md says why.
//
// Nothing is kept at the provider: each request carries the whole history. Signatures
// of thoughts are kept as sealed bytes and go back in the very parts that they came
// with, to this provider alone. A request is sent once: who wants another try asks
// again. The wire has no terminal event: an answer counts as whole only when a
// candidate said why it finished.
//
// Images, except GIF, which the API does not take, go as inline data: beside a user's
// words, and behind the results of an answer's calls with a word on which of them each
// is from. A schema loses what the API does not know; models before the third generation
// take a schema or tools, so that with tools it is asked for in words.
package gemini

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// The variables that this provider reads, when a model is opened.
const (
	keyVariable  = "GEMINI_API_KEY"
	baseVariable = "GEMINI_BASE_URL"
	defaultBase  = "https://generativelanguage.googleapis.com"
)

// provider is its name in models' names and in the history.
const provider = "gemini"

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

// ids have the letters that a path takes as they are.
var ids = regexp.MustCompile(`^((models|tunedModels)/)?[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Open gives the model of that id, which is the provider's own: `gemini-…`, also with
// `models/` or `tunedModels/` before it. A fault names what is missing or wrong.
func (p *Provider) Open(_ context.Context, id string) (model.Model, error) {
	if !ids.MatchString(id) {
		return nil, fault.New(fault.InvalidArgument, "MODEL_NAME_INVALID",
			"the model %q is not well named: write gemini/<id>, with the id as the provider lists it", provider+"/"+id)
	}
	key, err := model.Key(p.env, keyVariable)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, fault.New(fault.FailedPrecondition, "MODEL_KEY_MISSING",
			"the model %s/%s needs a key: set %s for the server and start it again", provider, id, keyVariable).With("variable", keyVariable)
	}
	base, err := baseURL(p.env(baseVariable))
	if err != nil {
		return nil, err
	}
	path := id
	if !strings.Contains(id, "/") {
		path = "models/" + id
	}
	return &gemini{
		id: path[strings.Index(path, "/")+1:], key: key, client: p.client,
		url: base + "/v1beta/" + path + ":streamGenerateContent?alt=sse",
	}, nil
}

// Fingerprint has nothing to tell: only the provider knows what stands behind an id.
func (p *Provider) Fingerprint(context.Context, string) (string, error) { return "", nil }

// baseURL reads the base-URL variable; without a value it is Google's own.
func baseURL(value string) (string, error) {
	if value = strings.TrimSpace(value); value == "" {
		value = defaultBase
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.FailedPrecondition, "MODEL_BASE_URL_INVALID",
			"the variable %s does not hold a base URL: write for instance %s, without /v1beta", baseVariable, defaultBase).With("variable", baseVariable)
	}
	return strings.TrimSuffix(value, "/"), nil
}
