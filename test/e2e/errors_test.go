package e2e

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

const applyProcedure = "/cadre.agentic.agent.v1.AgentService/Apply"

func TestErrorsHaveOneShapeOnEveryWire(t *testing.T) {
	t.Parallel()
	s := shared(t)
	broken := `{"agent":{"apiVersion":"agentic.cadre.dev/v1","kind":"Agent","metadata":{"slug":"Not A Slug"},"spec":{"instructions":"short"}}}`
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code               []any // on REST a number, on Connect a word
		reason             string
		violations         []string
		says               string
	}{
		"rules over REST":       {"POST", "/v1/agents:apply", broken, 400, []any{3.0}, "VALIDATION_FAILED", []string{"agent.metadata.slug string.pattern", "agent.spec.instructions string.min_len"}, "such as not-a-slug"},
		"rules over Connect":    {"POST", applyProcedure, broken, 400, []any{"invalid_argument"}, "VALIDATION_FAILED", []string{"agent.metadata.slug string.pattern", "agent.spec.instructions string.min_len"}, "such as not-a-slug"},
		"a NUL in a label":      {"POST", "/v1/agents:apply", `{"agent":{"metadata":{"slug":"t","labels":{"team":"a\u0000b"}},` + careful + `}}`, 400, []any{3.0}, "VALIDATION_FAILED", []string{`agent.metadata.labels["team"] text.nul`}, "NUL character"},
		"a NUL in a text":       {"POST", applyProcedure, strings.Replace(`{"agent":{"metadata":{"slug":"t"},`+careful+`}}`, `it."`, `\u0000it."`, 1), 400, []any{"invalid_argument"}, "VALIDATION_FAILED", []string{"agent.spec.instructions text.nul"}, "NUL character"},
		"a NUL in a parameter":  {"GET", "/v1/agents?filter=name%20=%20%22a%00%22", "", 400, []any{3.0}, "VALIDATION_FAILED", []string{"filter text.nul"}, "NUL character"},
		"unknown JSON, REST":    {"POST", "/v1/agents:apply", `{"agent":{"spec":{"tols":[]}}}`, 400, []any{3.0}, "UNKNOWN_FIELD", nil, `Did you mean "tools"?`},
		"unknown JSON, Connect": {"POST", applyProcedure, `{"agnt":{}}`, 400, []any{"invalid_argument"}, "UNKNOWN_FIELD", nil, `Did you mean "agent"?`},
		"unknown parameter":     {"GET", "/v1/agents?bogus=1", "", 400, []any{3.0}, "BAD_REQUEST", nil, "bogus"},
		"no JSON":               {"POST", "/v1/agents:apply", `{`, 400, []any{3.0}, "MALFORMED_JSON", nil, "the body is no JSON"},
		"unknown tool":          {"POST", "/v1/agents:apply", strings.Replace(`{"agent":{"metadata":{"slug":"t"},`+careful+`}}`, `it."`, `it.","tools":["read","grpe"]`, 1), 400, []any{3.0}, "UNKNOWN_TOOL", []string{"spec.tools[1] agent.tools.known"}, `Did you mean "grep"?`},
		"not found":             {"GET", "/v1/agents/nobody", "", 404, []any{5.0}, "NOT_FOUND", nil, "agent not found: nobody"},
		"no such path":          {"GET", "/v1/nothing", "", 404, []any{5.0}, "NO_SUCH_PATH", nil, "nothing answers GET /v1/nothing"},
		"no such method":        {"PATCH", "/v1/agents", "", 405, []any{12.0}, "METHOD_NOT_ALLOWED", nil, "PATCH is no method of /v1/agents; it has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, s, c.method, c.path, c.body)
			f := got.failure(t)
			reason, domain, metadata := f.info()
			if got.status != c.status || !slices.Contains(c.code, f.Code) || reason != c.reason || domain != "cadre.dev" || !strings.Contains(f.Message, c.says) {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if v := f.violations(); !slices.Equal(v, c.violations) {
				t.Errorf("the violations are %q, want %q", v, c.violations)
			}
			id := metadata["error_id"]
			if !strings.HasPrefix(id, "err_") || !bytes.Contains(serverLog(t, s), []byte(id)) {
				t.Errorf("the error id %q is not in the log", id)
			}
		})
	}
}

func TestUnknownProtobufFieldsAreRefused(t *testing.T) {
	t.Parallel()
	s := shared(t)
	a := &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "newer"}, Spec: &agentv1.AgentSpec{Instructions: "Be careful with it."},
	}
	a.Spec.ProtoReflect().SetUnknown([]byte{0xa2, 0x1f, 0x01, 'x'}) // field 500
	for name, opts := range map[string][]connect.ClientOption{"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()}} {
		client := s.Agents(opts...)
		if name == "gRPC" {
			client = grpcAgents(s)
		}
		_, err := client.Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: a}))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "a field that this server does not know") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := call(t, s, "GET", "/v1/agents/newer", ""); got.status != http.StatusNotFound {
		t.Errorf("the refused agent is there: %s", got.body)
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := shared(t)
	body := `{"agent":"x","message":"` + strings.Repeat("a", 5<<20) + `"}`
	for _, path := range []string{"/v1/sessions:run", "/cadre.agentic.session.v1.SessionService/RunAgent"} {
		got := call(t, s, "POST", path, body)
		if got.status < 400 || got.status >= 500 {
			t.Errorf("%s with 5 MiB gave %d %.200s", path, got.status, got.body)
		}
	}
	if got := call(t, s, "POST", "/v1/sessions:run", `{"agent":"x","message":"`+strings.Repeat("a", 2<<20)+`"}`); got.status != 400 {
		t.Errorf("a message of 2 MiB gave %d %.200s", got.status, got.body)
	}
}
