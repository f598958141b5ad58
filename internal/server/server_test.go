package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1/agentv1connect"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/server"
)

const token = "good"

// gate knows one token.
type gate struct{}

func (gate) Verify(_ context.Context, got string) (*identity.Caller, error) {
	if got != token {
		return nil, nil
	}
	return &identity.Caller{ID: "op", Class: identity.User}, nil
}

// verb answers a procedure with one function.
func verb(procedure string, do func(context.Context, *pipeline.Request) error) pipeline.Verb {
	return pipeline.Verb{Procedure: procedure, Steps: []pipeline.Step{{Name: "do", Do: do}}}
}

func serve(t *testing.T, verbs ...pipeline.Verb) (*httptest.Server, *server.Dispatcher) {
	t.Helper()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	verbs = append(verbs, server.InfoVerb(server.Facts{Version: "v1", BootID: "boot_1"}, func(context.Context) []string { return []string{"engine: gone"} }))
	d, err := server.NewDispatcher(verbs, []identity.Verifier{gate{}}, v, log)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Dispatcher: d, Health: func(context.Context) []string { return nil }, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	return h, d
}

func agents(h *httptest.Server) agentv1connect.AgentServiceClient {
	return agentv1connect.NewAgentServiceClient(h.Client(), h.URL)
}

func get(ref string) *connect.Request[resourcev1.GetRequest] {
	r := connect.NewRequest(&resourcev1.GetRequest{Ref: ref})
	r.Header().Set("Authorization", "Bearer "+token)
	return r
}

func TestAnErrorHasCodeReasonIDAndViolations(t *testing.T) {
	t.Parallel()
	cause := errors.New("a cause that no caller sees")
	f := fault.New(fault.NotFound, "NOT_FOUND", "agent not found: x").With("near", "y").Because(cause)
	f.Violations = []fault.Violation{{Field: "spec.model", Rule: "agent.model", Text: "must name a model"}}
	h, _ := serve(t, verb(agentv1connect.AgentServiceGetProcedure, func(context.Context, *pipeline.Request) error { return f }))
	_, err := agents(h).Get(t.Context(), get("x"))
	var wire *connect.Error
	if !errors.As(err, &wire) || wire.Code() != connect.CodeNotFound || wire.Message() != "agent not found: x" {
		t.Fatalf("got %v", err)
	}
	var info *errdetails.ErrorInfo
	var bad *errdetails.BadRequest
	for _, d := range wire.Details() {
		switch m := value(t, d).(type) {
		case *errdetails.ErrorInfo:
			info = m
		case *errdetails.BadRequest:
			bad = m
		}
	}
	id := info.GetMetadata()["error_id"]
	if info.GetReason() != "NOT_FOUND" || info.GetDomain() != "cadre.dev" || info.GetMetadata()["near"] != "y" || id == "" || wire.Meta().Get("Cadre-Error-Id") != id {
		t.Errorf("the info is %v", info)
	}
	if v := bad.GetFieldViolations(); len(v) != 1 || v[0].GetField() != "spec.model" || v[0].GetReason() != "agent.model" {
		t.Errorf("the violations are %v", bad)
	}
	if strings.Contains(err.Error(), "cause") {
		t.Errorf("the cause reached the caller: %v", err)
	}
}

func value(t *testing.T, d *connect.ErrorDetail) proto.Message {
	t.Helper()
	m, err := d.Value()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAPanicIsAnInternalErrorWithStaticText(t *testing.T) {
	t.Parallel()
	h, _ := serve(t, verb(agentv1connect.AgentServiceGetProcedure, func(context.Context, *pipeline.Request) error { panic("secret") }))
	_, err := agents(h).Get(t.Context(), get("x"))
	if connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), "internal error") || strings.Contains(err.Error(), "secret") {
		t.Fatalf("got %v", err)
	}
}

func TestWithoutATokenOnlyHealthAndInfoAnswer(t *testing.T) {
	t.Parallel()
	h, _ := serve(t, verb(agentv1connect.AgentServiceGetProcedure, func(context.Context, *pipeline.Request) error { panic("reached") }))
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/v1/server": 200,
		"/v1/agents": 401, "/v1/agents/x": 401, "/v1/sessions/ses_1/events/stream": 401,
		"/nothing": 404, "/v1/nothing": 404,
	} {
		res := fetch(t, h, http.MethodGet, path, "", nil)
		if res.StatusCode != want {
			t.Errorf("%s answered %d, want %d", path, res.StatusCode, want)
		}
	}
	res := fetch(t, h, http.MethodPost, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "", map[string]string{"Content-Type": "application/grpc"})
	if got := res.Header.Get("Grpc-Status") + res.Trailer.Get("Grpc-Status"); got != "16" {
		t.Errorf("reflection without a token answered the status %q, want 16", got)
	}
}

func fetch(t *testing.T, h *httptest.Server, method, path, body string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	if host := header["Host"]; host != "" {
		req.Host = host
	}
	res, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(strings.NewReader(string(data)))
	return res
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	t.Parallel()
	h, _ := serve(t)
	host := strings.TrimPrefix(h.URL, "http://")
	for name, c := range map[string]struct {
		header map[string]string
		want   int
	}{
		"own origin":     {map[string]string{"Origin": h.URL}, 200},
		"localhost":      {map[string]string{"Host": "localhost:1"}, 200},
		"foreign host":   {map[string]string{"Host": "evil.example"}, 403},
		"rebound host":   {map[string]string{"Host": "127.0.0.1.evil.example:80"}, 403},
		"foreign origin": {map[string]string{"Origin": "http://evil.example"}, 403},
		"null origin":    {map[string]string{"Origin": "null"}, 403},
		"other port":     {map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"https of it":    {map[string]string{"Origin": "https://" + host}, 403},
	} {
		if res := fetch(t, h, http.MethodGet, "/v1/server", "", c.header); res.StatusCode != c.want {
			t.Errorf("%s: answered %d, want %d", name, res.StatusCode, c.want)
		}
	}
}

func TestUnknownFieldsAreRefusedOnEveryWire(t *testing.T) {
	t.Parallel()
	h, _ := serve(t, verb(agentv1connect.AgentServiceListProcedure, func(_ context.Context, r *pipeline.Request) error {
		r.Answer = &agentv1.ListAgentsResponse{}
		return nil
	}))
	auth := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
	for name, c := range map[string]struct{ method, path, body string }{
		"connect":    {http.MethodPost, agentv1connect.AgentServiceListProcedure, `{"colour":"red"}`},
		"rest query": {http.MethodGet, "/v1/agents?colour=red", ""},
		"rest body":  {http.MethodPost, "/v1/agents", `{"colour":"red"}`},
	} {
		if res := fetch(t, h, c.method, c.path, c.body, auth); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: answered %d, want 400", name, res.StatusCode)
		}
	}
	for name, c := range map[string]struct{ method, path, body string }{
		"json name":  {http.MethodPost, agentv1connect.AgentServiceListProcedure, `{"pageSize":3}`},
		"proto name": {http.MethodPost, agentv1connect.AgentServiceListProcedure, `{"page_size":3}`},
		"rest":       {http.MethodGet, "/v1/agents?page_size=3", ""},
	} {
		if res := fetch(t, h, c.method, c.path, c.body, auth); res.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(res.Body)
			t.Errorf("%s: answered %d: %s", name, res.StatusCode, body)
		}
	}
}

func TestAMethodThatIsNotBuiltSaysSo(t *testing.T) {
	t.Parallel()
	h, _ := serve(t)
	_, err := agents(h).Get(t.Context(), get("x"))
	if connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "not built yet") {
		t.Fatalf("got %v", err)
	}
}

func TestCallersInTheProcessAreInternalUnlessOneIsCarried(t *testing.T) {
	t.Parallel()
	var seen identity.Caller
	_, d := serve(t, verb(agentv1connect.AgentServiceGetProcedure, func(_ context.Context, r *pipeline.Request) error {
		seen = r.Caller
		r.Answer = &agentv1.Agent{}
		return nil
	}))
	in := &resourcev1.GetRequest{Ref: "x"}
	if _, err := d.InProcess(t.Context(), agentv1connect.AgentServiceGetProcedure, in); err != nil || seen.Class != identity.Internal {
		t.Errorf("got %+v, %v", seen, err)
	}
	carried := identity.With(t.Context(), identity.Caller{ID: "someone", Class: identity.User})
	if _, err := d.InProcess(carried, agentv1connect.AgentServiceGetProcedure, in); err != nil || seen.ID != "someone" {
		t.Errorf("got %+v, %v", seen, err)
	}
	if _, err := d.InProcess(t.Context(), agentv1connect.AgentServiceGetProcedure, &resourcev1.GetRequest{}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a request in the process is not validated: %v", err)
	}
}

// streaming is a SubscribeEvents that sends one frame and waits.
func streaming() pipeline.Verb {
	v := verb(sessionv1connect.SessionServiceSubscribeEventsProcedure, func(context.Context, *pipeline.Request) error { return nil })
	v.Stream = func(ctx context.Context, _ *pipeline.Request, send func(proto.Message) error) error {
		if err := send(&sessionv1.Frame{Frame: &sessionv1.Frame_Heartbeat{Heartbeat: &sessionv1.Heartbeat{}}}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return v
}

func TestAShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	h, d := serve(t, streaming())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/v1/sessions/ses_1/events/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("the stream answered %s, %s", res.Status, res.Header.Get("Content-Type"))
	}
	time.AfterFunc(10*time.Millisecond, d.CloseStreams)
	body, err := io.ReadAll(res.Body) // returns when the stream ends
	if err != nil || !strings.HasPrefix(string(body), ": keep-alive") {
		t.Fatalf("the stream was %q, %v", body, err)
	}
}

func TestHealthOfADegradedServer(t *testing.T) {
	t.Parallel()
	h, _ := serve(t)
	res := fetch(t, h, http.MethodGet, "/v1/server", "", nil)
	var info struct {
		Health   string
		Degraded []string
	}
	if err := json.NewDecoder(res.Body).Decode(&info); err != nil || info.Health != "degraded" || len(info.Degraded) != 1 {
		t.Fatalf("got %+v, %v", info, err)
	}
}
