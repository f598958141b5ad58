package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

func TestMain(m *testing.M) { built.Main(m) }

var started = struct {
	sync.Once
	server *built.Server
	err    error
}{}

// shared is a server for tests that neither stop nor count what it holds.
func shared(t *testing.T) *built.Server {
	t.Helper()
	binary := built.Binary(t)
	started.Do(func() {
		dir, err := os.MkdirTemp("", "cadre-e2e-*") //nolint:usetesting // the folder outlives this test: the others use its server too
		if err != nil {
			started.err = err
			return
		}
		built.AtEnd(func() { _ = os.RemoveAll(dir) })
		started.server, started.err = built.Launch(binary, filepath.Join(dir, "data"))
	})
	if started.err != nil {
		t.Fatal(started.err)
	}
	return started.server
}

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

// failure is an error in the form that the REST paths and Connect share.
type failure struct {
	Code    any
	Message string
	Details []struct {
		Type            string `json:"@type"`
		Reason, Domain  string
		Metadata        map[string]string
		FieldViolations []struct{ Field, Description, Reason string }
		// Connect's form
		Debug struct {
			Reason, Domain  string
			Metadata        map[string]string
			FieldViolations []struct{ Field, Description, Reason string }
		}
	}
}

// info is reason, domain and metadata of a failure, on either wire.
func (f failure) info() (reason, domain string, metadata map[string]string) {
	for _, d := range f.Details {
		if d.Reason != "" {
			return d.Reason, d.Domain, d.Metadata
		}
		if d.Debug.Reason != "" {
			return d.Debug.Reason, d.Debug.Domain, d.Debug.Metadata
		}
	}
	return "", "", nil
}

// violations are `field rule` of a failure, on either wire.
func (f failure) violations() []string {
	var all []string
	for _, d := range f.Details {
		for _, v := range append(d.FieldViolations, d.Debug.FieldViolations...) {
			all = append(all, v.Field+" "+v.Reason)
		}
	}
	return all
}

func (a answer) failure(t *testing.T) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(a.body), &f); err != nil {
		t.Fatalf("%d %s is no error of the contract: %v", a.status, a.body, err)
	}
	return f
}

// object is a JSON answer, which must have the status 200.
func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if a.status != http.StatusOK {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// call sends one request with the operator's token; headers are pairs of name and value.
func call(t *testing.T, s *built.Server, method, path, body string, headers ...string) answer {
	t.Helper()
	return send(t, s.HTTP(), method, s.URL+path, body, headers...)
}

// send sends one request as the client is.
func send(t *testing.T, client *http.Client, method, url, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(data)}
}

// dig reads a value of a JSON object by its path.
func dig(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// script writes a script of the model and answers the model's name.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "scripted:" + path
}

// agent declares an agent; model may be empty.
func agent(t *testing.T, s *built.Server, slug, model string, tools ...string) *agentv1.Agent {
	t.Helper()
	res, err := s.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: slug},
		Spec: &agentv1.AgentSpec{Instructions: "Be careful with it.", Model: model, Tools: tools},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetAgent()
}

// run begins a session and answers the ids of session and turn.
func run(ctx context.Context, t *testing.T, s *built.Server, req *sessionv1.RunAgentRequest) (session, execution string) {
	t.Helper()
	res, err := s.Sessions().RunAgent(ctx, connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetSession().GetMetadata().GetId(), res.Msg.GetExecution().GetMetadata().GetId()
}

// say is a script that repeats what was said.
const say = "turns: [{steps: [{text: \"You said: {{user}}\"}]}]\nrepeat: true\n"

// serverLog is all that a server has logged.
func serverLog(t *testing.T, s *built.Server) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Data, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(data)
}
