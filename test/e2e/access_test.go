package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1/agentv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1/serverv1connect"
	"github.com/cadre-dev/cadre/gen/go/rpc"
	"github.com/cadre-dev/cadre/test/built"
)

// bare is a client without a token.
func bare() *http.Client { return &http.Client{Transport: &http.Transport{}} }

// h2 is a client that speaks HTTP/2 without encryption, as gRPC needs it.
func h2(token string) *http.Client {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: withToken{token, &http.Transport{Protocols: p}}}
}

type withToken struct {
	token string
	next  http.RoundTripper
}

// RoundTrip sends one request.
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.next.RoundTrip(r)
}

func grpcAgents(s *built.Server) agentv1connect.AgentServiceClient {
	return agentv1connect.NewAgentServiceClient(h2(s.Token), s.URL, connect.WithGRPC())
}

func TestWithoutATokenOnlyHealthAndServerInfoAnswer(t *testing.T) {
	t.Parallel()
	s := shared(t)
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/v1/server": 200,
		"/v1/agents": 401, "/v1/agents/x": 401, "/v1/sessions": 401, "/v1/sessions/x/events/stream": 401, "/v1/sessions/x/transcript": 401,
		"/metrics": 401, "/": 404, "/debug/pprof/": 404,
	} {
		if got := send(t, bare(), "GET", s.URL+path, ""); got.status != want {
			t.Errorf("GET %s gave %d, want %d", path, got.status, want)
		}
	}
	for _, m := range rpc.Methods {
		want := http.StatusUnauthorized
		if m.Public {
			want = http.StatusOK
		}
		kind := "application/json"
		if m.ServerStream {
			kind, want = "application/connect+json", http.StatusOK // a stream's error stands in its last frame
		}
		got := send(t, bare(), "POST", s.URL+m.Procedure, "{}", "Content-Type", kind)
		if got.status != want || !m.Public && !strings.Contains(got.body, "unauthenticated") {
			t.Errorf("%s gave %d %s", m.Procedure, got.status, got.body)
		}
	}
	for token, reason := range map[string]string{"cdr_op_wrong": "TOKEN_REFUSED", "whatever": "TOKEN_UNKNOWN"} {
		got := send(t, bare(), "GET", s.URL+"/v1/agents", "", "Authorization", "Bearer "+token)
		if r, _, _ := got.failure(t).info(); got.status != 401 || r != reason {
			t.Errorf("the token %s gave %d %s", token, got.status, got.body)
		}
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	s := shared(t)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for name, c := range map[string]struct {
		header, value string
		status        int
		reason        string
	}{
		"another host":       {"Host", "evil.example" + port, 403, "HOST_REFUSED"},
		"a rebound name":     {"Host", "127.0.0.1.evil.example" + port, 403, "HOST_REFUSED"},
		"another address":    {"Host", "192.0.2.1" + port, 403, "HOST_REFUSED"},
		"its address":        {"Host", "127.0.0.1" + port, 200, ""},
		"its name":           {"Host", "localhost" + port, 200, ""},
		"its name in six":    {"Host", "[::1]" + port, 200, ""},
		"another origin":     {"Origin", "http://evil.example", 403, "ORIGIN_REFUSED"},
		"another port":       {"Origin", "http://127.0.0.1:1", 403, "ORIGIN_REFUSED"},
		"no origin at all":   {"Origin", "null", 403, "ORIGIN_REFUSED"},
		"its own origin":     {"Origin", s.URL, 200, ""},
		"its origin, by TLS": {"Origin", "https" + strings.TrimPrefix(s.URL, "http"), 403, "ORIGIN_REFUSED"},
	} {
		for _, path := range []string{"/v1/agents", "/v1/server", "/healthz"} {
			got := call(t, s, "GET", path, "", c.header, c.value)
			reason := ""
			if got.status != 200 {
				reason, _, _ = got.failure(t).info()
			}
			if got.status != c.status || reason != c.reason {
				t.Errorf("%s: GET %s gave %d %s", name, path, got.status, got.body)
			}
		}
	}
	if got := call(t, s, "GET", "/v1/agents", ""); got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the headers are %v", got.header)
	}
}

func TestGRPCWithHealthAndReflection(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "over-grpc", "")
	got, err := grpcAgents(s).Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: "over-grpc"}))
	if err != nil || got.Msg.GetMetadata().GetSlug() != "over-grpc" {
		t.Fatalf("got %v, %v", got, err)
	}
	if _, err := agentv1connect.NewAgentServiceClient(h2(""), s.URL, connect.WithGRPC()).Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: "over-grpc"})); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("without a token: %v", err)
	}

	// Health needs no token and speaks of every service.
	for _, service := range []string{"", agentv1connect.AgentServiceName} {
		answer := send(t, bare(), "POST", s.URL+"/grpc.health.v1.Health/Check", `{"service":"`+service+`"}`)
		if answer.status != 200 || !strings.Contains(answer.body, "SERVING") {
			t.Errorf("the health of %q is %d %s", service, answer.status, answer.body)
		}
	}

	// Reflection needs one.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	names, err := grpcreflect.NewClient(h2(s.Token), s.URL, connect.WithGRPC()).NewStream(ctx).ListServices()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{agentv1connect.AgentServiceName, "cadre.agentic.session.v1.SessionService", "cadre.platform.server.v1.ServerService"} {
		if !slices.Contains(names, protoreflect.FullName(want)) {
			t.Errorf("reflection does not know %s: %v", want, names)
		}
	}
	if _, err := grpcreflect.NewClient(h2(""), s.URL, connect.WithGRPC()).NewStream(ctx).ListServices(); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("reflection without a token gave %v", err)
	}
}

func TestServerInfo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	res, err := serverv1connect.NewServerServiceClient(bare(), s.URL).GetServerInfo(t.Context(), connect.NewRequest(&serverv1.GetServerInfoRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	info := res.Msg
	if info.GetHealth() != "ok" || info.GetStore() != "sqlite" || info.GetEngine() != "temporal" || !strings.HasPrefix(info.GetBootId(), "boot_") ||
		!slices.Contains(info.GetKinds(), "agent") || !slices.Contains(info.GetTools(), "edit") || !slices.Contains(info.GetModelProviders(), "scripted") {
		t.Errorf("the server says %v", info)
	}
}
