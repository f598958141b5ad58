package chat

import (
	"net"
	"net/url"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
	"github.com/cadre-dev/cadre/internal/near"
)

// host is one place that speaks Chat Completions, and how it departs from what
// OpenAI publishes. To add a host, add a row.
type host struct {
	name         string
	base         string // where it is when its variable says nothing
	baseVariable string
	keyVariable  string // "" for a host without keys
	keyOptional  bool
	quirks       quirks
}

// quirks are departures. The zero value has none.
type quirks struct {
	requestID      bool   // it documents X-Client-Request-Id
	newMaxTokens   bool   // it takes max_completion_tokens, not max_tokens
	noUsageOption  bool   // it refuses stream_options, or tells the usage unasked
	developerRole  string // the role of what Cadre says to the model
	echoThoughts   bool   // it wants its reasoning_content back, and refuses a call without the field
	echoDetails    bool   // it wants its reasoning_details back
	nineLetterIDs  bool   // ids of calls are nine letters or digits
	wantsBridge    bool   // it refuses a user's message behind a tool's, with no answer between them
	jsonObjectOnly bool   // it holds an answer to JSON, not to a schema
	bareHost       bool   // its variable holds a host, to which the path is added
}

// hosts are the rows.
var hosts = []host{
	{name: "openai", base: "https://api.openai.com/v1", baseVariable: "OPENAI_BASE_URL", keyVariable: "OPENAI_API_KEY",
		quirks: quirks{requestID: true, newMaxTokens: true, developerRole: "developer"}},
	{name: "ollama", base: "http://127.0.0.1:11434/v1", baseVariable: "OLLAMA_HOST",
		quirks: quirks{bareHost: true}},
	{name: "vllm", base: "http://127.0.0.1:8000/v1", baseVariable: "VLLM_BASE_URL", keyVariable: "VLLM_API_KEY", keyOptional: true},
	{name: "lmstudio", base: "http://127.0.0.1:1234/v1", baseVariable: "LMSTUDIO_BASE_URL", keyVariable: "LMSTUDIO_API_KEY", keyOptional: true},
	{name: "openrouter", base: "https://openrouter.ai/api/v1", baseVariable: "OPENROUTER_BASE_URL", keyVariable: "OPENROUTER_API_KEY",
		quirks: quirks{echoDetails: true}},
	{name: "groq", base: "https://api.groq.com/openai/v1", baseVariable: "GROQ_BASE_URL", keyVariable: "GROQ_API_KEY",
		quirks: quirks{newMaxTokens: true}},
	{name: "mistral", base: "https://api.mistral.ai/v1", baseVariable: "MISTRAL_BASE_URL", keyVariable: "MISTRAL_API_KEY",
		quirks: quirks{noUsageOption: true, developerRole: "user", nineLetterIDs: true, wantsBridge: true}},
	{name: "deepseek", base: "https://api.deepseek.com/v1", baseVariable: "DEEPSEEK_BASE_URL", keyVariable: "DEEPSEEK_API_KEY",
		quirks: quirks{echoThoughts: true, jsonObjectOnly: true}},
}

// find gives the row of a host.
func find(name string) (host, error) {
	var known []string
	for _, h := range hosts {
		if h.name == name {
			return h, nil
		}
		known = append(known, h.name)
	}
	return host{}, fault.New(fault.InvalidArgument, "MODEL_HOST_UNKNOWN",
		"no host for openai-chat is called %q.%s The hosts are: %s", name, near.Hint(name, known), near.List(known)).With("host", name)
}

// endpoint reads the variables of a host. A fault names the one that is missing or
// wrong.
func (h host) endpoint(env func(string) string, id string) (sdk.Endpoint, error) {
	e := sdk.Endpoint{Base: sdk.Value(env, h.baseVariable)}
	if h.keyVariable != "" {
		var err error
		if e.Key, err = model.Key(env, h.keyVariable); err != nil {
			return e, err
		}
		if e.Key == "" && !h.keyOptional {
			return e, sdk.MissingKey(provider+":"+h.name+"/"+id, h.keyVariable)
		}
	}
	switch {
	case e.Base == "":
		e.Base = h.base
	case h.quirks.bareHost:
		e.Base = fromHost(e.Base)
	}
	return e, e.Check(h.baseVariable)
}

// fromHost makes a base URL of what OLLAMA_HOST may hold: a host, with or without
// scheme and port. An address that a server listens on everywhere is this machine.
func fromHost(s string) string {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	name, port := u.Hostname(), u.Port()
	switch name {
	case "0.0.0.0", "::", "":
		name = "127.0.0.1"
	}
	if port == "" && u.Scheme == "http" {
		port = "11434"
	}
	u.Host = name
	if strings.Contains(name, ":") {
		u.Host = "[" + name + "]"
	}
	if port != "" {
		u.Host = net.JoinHostPort(name, port)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/v1") {
		u.Path += "/v1"
	}
	return u.String()
}
