package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

// replayAgent lists its folder and says what it found.
const replayAgent = "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: looker}\nspec: {instructions: You look around., tools: [list]}\n"

// TestATurnThatPlaysARecordingGoesOnAfterACrash: wherever the server dies, the next one
// finds the answers to what it asks again, and the turn ends as it was recorded.
func TestATurnThatPlaysARecordingGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent.yaml"), []byte(replayAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	recordTurn(t, dir)
	for _, place := range []string{
		"commit.dispatch.after=kill@1", "commit.respond.before=kill@1", "commit.respond.after=kill@1",
		"commit.finish_tools.before=kill@1", "commit.dispatch.after=kill@2", "commit.respond.before=kill@2",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s, err := built.Hurt(t, filepath.Join(t.TempDir(), "data"), "CADRE_FAILPOINTS="+place)
			if err != nil {
				t.Fatal(err)
			}
			s.MustRun(t, dir, "apply", "-f", "agent.yaml")
			said := s.MustRun(t, dir, "run", "looker", "-m", "What is here?", "-w", oneFile(t), "--model", "replay:tape.yaml", "--detach")
			if !s.Ended(playTime) {
				t.Fatal("the server did not die")
			}
			s.Env = nil
			s.Start(t)
			if out := s.MustRun(t, dir, "attach", strings.Fields(said)[0]); !strings.Contains(out, "\nOne file.\n") || !strings.Contains(out, "✓") {
				t.Errorf("the turn came to\n%s", out)
			}
		})
	}
}

// oneFile makes a folder with a file in it, another one each time.
func oneFile(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// recordTurn records the agent's turn as tape.yaml from a host of Chat Completions.
func recordTurn(t *testing.T, dir string) {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		delta, finish := `{"tool_calls":[{"index":0,"id":"call_x","type":"function","function":{"name":"list","arguments":"{}"}}]}`, "tool_calls"
		if bytes.Contains(body, []byte(`"role":"tool"`)) {
			delta, finish = `{"content":"One file."}`, "stop"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", delta, finish)
	}))
	defer host.Close()
	s := built.New(t, filepath.Join(dir, "data"))
	s.Env = []string{"OPENAI_API_KEY=key-for-tests", "OPENAI_BASE_URL=" + host.URL + "/v1"}
	s.Start(t)
	s.MustRun(t, dir, "apply", "-f", "agent.yaml")
	s.MustRun(t, dir, "run", "looker", "-m", "What is here?", "-w", oneFile(t), "--model", "openai-chat:openai/gpt-test", "--record", "tape.yaml")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}
