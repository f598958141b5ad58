package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

// recordedKey must be found in no recording.
const recordedKey = "sk-sentinel-0123456789"

// recordedTest asks for one tool call, so that the second request holds what the
// first answer said.
const recordedTest = `agent: {instructions: You look around., tools: [list]}
model: openai-chat:openai/gpt-test
cassette: look.cassette.yaml
workspace: {files: {a.txt: x}}
turns:
  - say: What is here?
    expect:
      tools: [{name: list, result: {contains: a.txt}}]
      answer: {equals: One file.}
  - say: Thanks.
    expect: {answer: {equals: You are welcome.}}
`

// TestWhatIsRecordedIsPlayedWithoutKeyAndNetwork records a test from a server of the
// wire and plays it when that server is gone, in another folder.
func TestWhatIsRecordedIsPlayedWithoutKeyAndNetwork(t *testing.T) {
	t.Parallel()
	binary, dir := built.Binary(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "look.test.yaml"), []byte(recordedTest), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		chat(w, r)
	}))
	defer host.Close()
	run := func(want int, args []string, env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"test"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(built.Environ(), env...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("cadre test %q: exit %d\n%s", args, code, out)
		}
		return string(out)
	}
	real := []string{"OPENAI_API_KEY=" + recordedKey, "OPENAI_BASE_URL=" + host.URL + "/v1"}
	if out := run(2, nil, real...); !strings.Contains(out, "there is no recording look.cassette.yaml") || asked.Load() != 0 {
		t.Errorf("%d requests, %s", asked.Load(), out)
	}
	if out := run(0, []string{"--record"}, real...); !strings.Contains(out, "recorded look.cassette.yaml") || asked.Load() != 3 {
		t.Errorf("%d requests, %s", asked.Load(), out)
	}
	host.Close()
	path := filepath.Join(dir, "look.cassette.yaml")
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte(recordedKey)) || !bytes.Contains(data, []byte("[secret]")) {
		t.Errorf("the recording, %v:\n%s", err, data)
	}
	run(0, nil)

	if err := os.WriteFile(filepath.Join(dir, "look.test.yaml"), []byte(strings.Replace(recordedTest, "What is here?", "What is there?", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(1, nil); !strings.Contains(out, `messages[1].content: "What is here?" -> "What is there?"`) {
		t.Error(out)
	}
}

// TestAReplayGoesOnInAnotherProcess plays the first turn of a recording on a server
// that is then killed, and the second on the one that comes after it.
func TestAReplayGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(chat))
	defer host.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml": "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: looker}\nspec: {instructions: You look around., tools: [list]}\n",
		"then/a.txt": "x", "now/a.txt": "x",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := built.New(t, filepath.Join(dir, "data"))
	s.Env = []string{"OPENAI_API_KEY=" + recordedKey, "OPENAI_BASE_URL=" + host.URL + "/v1"}
	s.Start(t)
	s.MustRun(t, dir, "apply", "-f", "agent.yaml")
	talk := func(folder string, more ...string) string {
		t.Helper()
		ids := strings.Fields(s.MustRun(t, dir, append([]string{"run", "looker", "-m", "What is here?", "-w", folder, "--detach"}, more...)...))
		said := s.MustRun(t, dir, "attach", ids[0])
		if len(more) > 2 { // while it is recorded the same server goes on
			return said + s.MustRun(t, dir, append([]string{"send", ids[0], "-m", "Thanks."}, more[2:]...)...)
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		s.Env = nil
		s.Start(t)
		return said + s.MustRun(t, dir, "send", ids[0], "-m", "Thanks.")
	}
	for _, said := range []string{
		talk("then", "--model", "openai-chat:openai/gpt-test", "--record", "c.yaml"),
		talk("now", "--model", "replay:c.yaml"),
	} {
		if !strings.Contains(said, "One file.") || !strings.Contains(said, "You are welcome.") {
			t.Errorf("the session says\n%s", said)
		}
	}
}

// chat answers like a host of Chat Completions: a call, then what it led to. It
// repeats the key that it was asked with, as some hosts do.
func chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	delta := `{"tool_calls":[{"index":0,"id":"call_x","type":"function","function":{"name":"list","arguments":"{\"path\":\".\"}"}}]}`
	finish := "tool_calls"
	switch {
	case bytes.Contains(body, []byte("Thanks.")):
		delta, finish = `{"content":"You are welcome."}`, "stop"
	case bytes.Contains(body, []byte(`"role":"tool"`)):
		delta, finish = `{"content":"One file."}`, "stop"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, ": %s\n\n", r.Header.Get("Authorization"))
	chunk := func(choice, rest string) {
		fmt.Fprintf(w, "data: {\"id\":\"r1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-test\",\"choices\":[%s]%s}\n\n", choice, rest)
	}
	chunk(`{"index":0,"delta":`+delta+`,"finish_reason":null}`, "")
	chunk(`{"index":0,"delta":{},"finish_reason":"`+finish+`"}`, "")
	chunk("", `,"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
