// Package anthropic is the model provider for Anthropic's Messages API.
//
// Nothing is kept at the provider: each request carries the whole history. What the
// model thought comes with a signature; thought and signature are kept as sealed
// bytes and go back as they came, to this provider alone. A request is sent once:
// who wants another try asks again. An answer counts as whole only when its
// message_stop came.
//
// Images go as base64 in blocks of a user's turn and of results, except of results
// that are errors, in which the API takes text alone. An answer is held to a schema; one
// that the API cannot hold it to is reduced to what it can, or asked for in words, as
// is any of a model from before the API had that.
//
// It reads ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL when a model is opened and no
// other variable, profile or file, although the SDK below could.
package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// The variables that this provider reads.
const (
	keyVariable  = "ANTHROPIC_API_KEY"
	baseVariable = "ANTHROPIC_BASE_URL"
	defaultBase  = "https://api.anthropic.com"
)

// provider is its name in models' names and in the history.
const provider = "anthropic"

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
		return nil, fault.New(fault.FailedPrecondition, "MODEL_KEY_MISSING",
			"the model %s/%s needs a key: set %s for the server and start it again", provider, id, keyVariable).With("variable", keyVariable)
	}
	base, err := baseURL(p.env(baseVariable))
	if err != nil {
		return nil, err
	}
	messages := sdk.NewMessageService(
		option.WithHTTPClient(p.client), option.WithBaseURL(base), option.WithAPIKey(key),
		option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	)
	return &claude{id: id, key: key, messages: messages}, nil
}

// Fingerprint has nothing to tell: only the provider knows what stands behind an id.
func (p *Provider) Fingerprint(context.Context, string) (string, error) { return "", nil }

// baseURL reads the base-URL variable; without a value it is Anthropic's own.
func baseURL(value string) (string, error) {
	if value = strings.TrimSpace(value); value == "" {
		value = defaultBase
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.FailedPrecondition, "MODEL_BASE_URL_INVALID",
			"the variable %s does not hold a base URL: write for instance %s, without /v1", baseVariable, defaultBase).With("variable", baseVariable)
	}
	return strings.TrimSuffix(value, "/") + "/", nil
}
