package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1/agentv1connect"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// ask posts a body to a path and answers status and body.
func ask(t *testing.T, client *http.Client, url, kind, bearer, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestABodyThatCannotBeReadIsAFaultLikeAnyOther(t *testing.T) {
	t.Parallel()
	never := verb(agentv1connect.AgentServiceApplyProcedure, func(context.Context, *pipeline.Request) error {
		t.Error("the verb ran")
		return nil
	})
	h, _ := serve(t, never)
	for name, c := range map[string]struct{ path, kind, body, reason, want string }{
		"unknown field": {agentv1connect.AgentServiceApplyProcedure, "application/json", "{\"agent\":\n{\"spec\":{\"tols\":[]}}}", "UNKNOWN_FIELD", `line 2:10 of the body: cadre.agentic.agent.v1.ApplyAgentRequest has no field \"tols\". Did you mean \"tools\"?`},
		"no JSON":       {agentv1connect.AgentServiceApplyProcedure, "application/json", "{", "MALFORMED_JSON", "the body is no JSON of cadre.agentic.agent.v1.ApplyAgentRequest: unexpected EOF"},
		"another type":  {agentv1connect.AgentServiceApplyProcedure, "application/json", `{"dryRun":"yes"}`, "MALFORMED_JSON", "invalid value for bool field dryRun"},
		"nothing":       {agentv1connect.AgentServiceApplyProcedure, "application/json", "", "EMPTY_BODY", "the body is empty"},
		"no protobuf":   {agentv1connect.AgentServiceApplyProcedure, "application/proto", "\x0a\xff", "MALFORMED_PROTOBUF", "the body is no cadre.agentic.agent.v1.ApplyAgentRequest in protobuf's binary form"},
		"unknown bytes": {agentv1connect.AgentServiceApplyProcedure, "application/proto", "\xa2\x1f\x01x", "UNKNOWN_FIELD", "a field that this server does not know"},
		"over REST":     {"/v1/agents:apply", "application/json", `{"agent":{"spec":{"tols":[]}}}`, "UNKNOWN_FIELD", `has no field \"tols\"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := ask(t, h.Client(), h.URL+c.path, c.kind, token, c.body)
			if status != http.StatusBadRequest || !strings.Contains(body, c.want) || !strings.Contains(body, c.reason) || !strings.Contains(body, "error_id") {
				t.Errorf("got %d %s\nwant 400 with %s and %s", status, body, c.reason, c.want)
			}
		})
	}
}

func TestWhoAsksIsKnownBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	h, _ := serve(t)
	for _, path := range []string{agentv1connect.AgentServiceApplyProcedure, "/v1/agents:apply"} {
		for _, bearer := range []string{"", "wrong"} {
			if status, body := ask(t, h.Client(), h.URL+path, "application/json", bearer, "{"); status != http.StatusUnauthorized {
				t.Errorf("%s with the token %q and a broken body gave %d %s", path, bearer, status, body)
			}
		}
	}
}

func TestTheTranscodersOwnRefusalsHaveReasonAndID(t *testing.T) {
	t.Parallel()
	h, _ := serve(t)
	for target, want := range map[string]struct {
		status int
		reason string
	}{
		"GET /v1/agents?bogus=1":       {400, "BAD_REQUEST"},
		"GET /v1/agents?page_size=all": {400, "BAD_REQUEST"},
		"PATCH /v1/agents":             {405, "METHOD_NOT_ALLOWED"},
		"GET /v1/nothing":              {404, "NO_SUCH_PATH"},
	} {
		method, path, _ := strings.Cut(target, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := h.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var said struct {
			Code    int
			Message string
			Details []struct {
				Reason   string
				Domain   string
				Metadata map[string]string
			}
		}
		if err := json.NewDecoder(res.Body).Decode(&said); err != nil || res.StatusCode != want.status || said.Message == "" || len(said.Details) != 1 ||
			said.Details[0].Reason != want.reason || said.Details[0].Domain != "cadre.dev" || said.Details[0].Metadata["error_id"] == "" {
			t.Errorf("%s gave %d %+v (%v), want %d %s", target, res.StatusCode, said, err, want.status, want.reason)
		}
	}
}
