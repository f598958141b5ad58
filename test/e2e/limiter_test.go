package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// When a provider asks one turn to wait, no turn with the same key asks it before.
func TestAProvidersWaitCountsForAllTurns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var came []time.Time
	first := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		came = append(came, time.Now())
		n := len(came)
		mu.Unlock()
		if n == 1 {
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
			close(first)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(host.Close)
	s := built.New(t, filepath.Join(t.TempDir(), "data"))
	s.Env = []string{"GROQ_API_KEY=key-for-tests", "GROQ_BASE_URL=" + host.URL + "/v1"}
	s.Start(t)
	_, err := s.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "asker"},
		Spec: &agentv1.AgentSpec{Instructions: "Answer in short."},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(model string) string {
		t.Helper()
		res, err := s.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{Agent: "asker", Message: "Hello?", Model: "openai-chat:groq/" + model}))
		if err != nil {
			t.Fatal(err)
		}
		return res.Msg.GetSession().GetMetadata().GetId()
	}
	one := ask("first")
	<-first
	s.AwaitType(t, one, "session.status.changed", 2) // the answer was taken in
	two := ask("second")
	s.AwaitType(t, two, "turn.completed", 1)
	mu.Lock()
	defer mu.Unlock()
	if waited := came[1].Sub(came[0]); waited < 2*time.Second { // a promise, not a measurement
		t.Errorf("the second request came %s after the one that was asked to wait for two seconds", waited)
	}
}
