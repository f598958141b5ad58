package e2e

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

// troubled is a host that fails in one way after the other before it answers.
type troubled struct {
	responses

	mu    sync.Mutex
	fails []func(http.ResponseWriter)
}

func (h *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	var fail func(http.ResponseWriter)
	if len(h.fails) > 0 {
		fail, h.fails = h.fails[0], h.fails[1:]
	}
	h.mu.Unlock()
	if fail == nil {
		h.responses.ServeHTTP(w, r)
		return
	}
	fail(w)
}

// refuses answers with a status and an error.
func refuses(status int, body string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// breaks begins an answer and cuts it.
func breaks(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"half of\"}\n\n"))
}

// One turn lives through what a provider's host does on a bad day, and says each time why
// it waits; what the host asks for stands above the server's own delays.
func TestATurnOutlivesItsProvidersBadDay(t *testing.T) {
	t.Parallel()
	host := &troubled{fails: []func(http.ResponseWriter){
		refuses(429, `{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`, "Retry-After", "1"),
		refuses(503, `{"error":{"message":"busy"}}`),
		refuses(529, ``),
		refuses(500, `<html>oops</html>`),
		breaks,
	}}
	provider := httptest.NewServer(host)
	defer provider.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agent.yaml"), "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: teller}\nspec:\n  instructions: Say something.\n  model: openai/gpt-6-sol\n")
	s := built.New(t, filepath.Join(dir, "data"))
	s.Env = []string{"OPENAI_API_KEY=" + secretKey, "OPENAI_BASE_URL=" + provider.URL + "/v1", "CADRE_RECOVERY_DELAYS=10ms,10ms,10ms,10ms,10ms"}
	s.Start(t)
	cadre(t, s, "apply", "-f", filepath.Join(dir, "agent.yaml"))
	said, _ := cadre(t, s, "run", "teller", "-m", "Go on.")
	at := 0
	for _, want := range []string{
		"it asks to wait 1s (provider_rate_limited); try 1 of 5", "overloaded (provider_unavailable); try 1 of 15", "overloaded (provider_unavailable); try 2 of 15",
		"failed (provider_unavailable); try 2 of 5", "half of", "(provider_response_malformed); try 3 of 5", `{"said":`, "6 model calls",
	} {
		found := strings.Index(said[at:], want)
		if found < 0 {
			t.Fatalf("%q is not told, or not in its place:\n%s", want, said)
		}
		at += found
	}
	if n := len(host.requests()); n != 1 {
		t.Errorf("the host answered %d times", n)
	}

	// An account without money is not asked twice.
	host.mu.Lock()
	host.fails = []func(http.ResponseWriter){refuses(429, `{"error":{"code":"insufficient_quota","message":"pay first"}}`)}
	host.mu.Unlock()
	failed := s.Run(t, dir, "run", "teller", "-m", "Go on.")
	said = failed.Out
	if failed.Code != 1 || !strings.Contains(said, "(provider_quota_exhausted)") || strings.Contains(said, "waiting for") || len(host.requests()) != 1 {
		t.Errorf("after %d answers it says\n%s", len(host.requests()), said)
	}
}
