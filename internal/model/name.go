package model

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
)

// forms are the models' names that Cadre's contract knows: what follows the
// provider's name. Other providers take `/` and `:` alike.
var forms = map[string]string{
	"openai":      "openai/<id>",
	"openai-chat": "openai-chat:<host>/<id>",
	"anthropic":   "anthropic/<id>",
	"gemini":      "gemini/<id>",
	"scripted":    "scripted:<file>",
	"replay":      "replay:<file>",
}

// form shows how a provider's models are named.
func form(provider string) string {
	if f, ok := forms[provider]; ok {
		return f
	}
	return provider + "/<id>"
}

// ParseName splits a model's name at the first `/` or `:` into the provider and
// the id that is the provider's own. ErrNoModel for an empty name, else an
// InvalidArgument that shows how to write it. Whether the provider exists is not
// looked at.
func ParseName(name string) (provider, id string, err error) {
	if strings.TrimSpace(name) == "" {
		return "", "", ErrNoModel
	}
	at := strings.IndexAny(name, "/:")
	if at < 0 {
		return "", "", noProvider(name)
	}
	provider, id = name[:at], name[at+1:]
	known, ok := forms[provider]
	wrongMark := ok && known[len(provider)] != name[at]
	host, rest, hasHost := strings.Cut(id, "/")
	wrongHost := provider == "openai-chat" && (!hasHost || host == "" || rest == "")
	if provider == "" || id == "" || wrongMark || wrongHost {
		return "", "", badName(name, form(provider))
	}
	return provider, id, nil
}

func badName(name, want string) error {
	return fault.New(fault.InvalidArgument, "MODEL_NAME_INVALID", "the model %q is not well named: write %s", name, want)
}

// noProvider explains a name without provider; it may be a provider's alone.
func noProvider(name string) error {
	var known []string
	for n := range forms {
		known = append(known, n)
	}
	if n := near.Word(name, known); n != "" {
		return badName(name, form(n))
	}
	return badName(name, "<provider>/<id>, for instance openai/"+name)
}
