package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/test/built"
)

// responses is a host that speaks the Responses API: it asks for the file of a
// folder first, and then says what it read.
type responses struct {
	mu   sync.Mutex
	seen []map[string]any
	keys []string
}

func (h *responses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req map[string]any
	if r.URL.Path != "/v1/responses" || json.Unmarshal(body, &req) != nil {
		http.NotFound(w, r)
		return
	}
	h.mu.Lock()
	h.seen = append(h.seen, req)
	h.keys = append(h.keys, r.Header.Get("Authorization"))
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		data, _ := json.Marshal(fields)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	item := map[string]any{"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "read", "arguments": `{"path":"a.txt"}`}
	if strings.Contains(string(body), "function_call_output") || req["tools"] == nil {
		text := `{"said":"` + echo(r.Header.Get("Authorization")) + `"}`
		item = map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}}
		send("response.output_text.delta", map[string]any{"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text})
	}
	send("response.output_item.done", map[string]any{"output_index": 0, "item": item})
	send("response.completed", map[string]any{"response": map[string]any{
		"id": "resp_1", "status": "completed", "output": []any{item},
		"usage": map[string]any{"input_tokens": 1000, "output_tokens": 100, "input_tokens_details": map[string]any{"cached_tokens": 400}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}},
	}})
}

// echo repeats the key, as a careless host does.
func echo(authorization string) string { return strings.TrimPrefix(authorization, "Bearer ") }

func (h *responses) requests() []map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]map[string]any(nil), h.seen...)
}

const secretKey = "sk-sentinel-0123456789"

// cadre runs the command line against a server's data folder.
func cadre(t *testing.T, s *built.Server, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.Command(built.Binary(t), append(args, "--data", s.Data)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errOut, built.Environ()
	if err := cmd.Run(); err != nil {
		t.Fatalf("cadre %v: %v\n%s\n%s", args, err, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

// A key alone is enough: the default model answers, what it costs is booked, and
// its recorded traffic plays again without network and key.
func TestAModelOfAProviderFromTheKeyToTheReplay(t *testing.T) {
	t.Parallel()
	host := &responses{}
	provider := httptest.NewServer(host)
	defer provider.Close()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	write(t, filepath.Join(work, "a.txt"), "hello\n")
	write(t, filepath.Join(dir, "agent.yaml"), "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: teller}\nspec:\n  instructions: Say what is in the file.\n  tools: [read]\n")
	write(t, filepath.Join(dir, "schema.json"), `{"type":"object","properties":{"said":{"type":"string"}},"required":["said"],"additionalProperties":false}`)
	s := built.New(t, filepath.Join(dir, "data"))
	s.Env = []string{"OPENAI_API_KEY=" + secretKey, "OPENAI_BASE_URL=" + provider.URL + "/v1"}
	s.Start(t)
	cadre(t, s, "apply", "-f", filepath.Join(dir, "agent.yaml"))
	tape := filepath.Join(dir, "tape.yaml")
	live, _ := cadre(t, s, "run", "teller", "-m", "What is in a.txt?", "-w", work, "--schema", filepath.Join(dir, "schema.json"), "--record", tape)
	if !strings.Contains(live, `{"said":`) || len(host.requests()) != 2 {
		t.Fatalf("the answer is %q after %d requests", live, len(host.requests()))
	}
	first := host.requests()[0]
	if first["model"] != "gpt-6.1-sol" {
		t.Errorf("the default model is %v", first["model"])
	}
	if format, _ := json.Marshal(first["text"]); !strings.Contains(string(format), `"json_schema"`) || !strings.Contains(string(format), "said") {
		t.Errorf("the request asks for %s", format)
	}

	// 600 at 2, 400 at 0.1, 100 at 10 dollars per million, twice.
	usage, _ := cadre(t, s, "usage", "--by", "model", "-o", "json")
	if !strings.Contains(usage, `"costNanoUsd": "4480000"`) || !strings.Contains(usage, `"openai/gpt-6.1-sol"`) {
		t.Errorf("the usage is %s", usage)
	}
	if told, _ := cadre(t, s, "usage"); !strings.Contains(told, "$0.004480") {
		t.Errorf("people are told %s", told)
	}

	kept, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kept, []byte(secretKey)) || !bytes.Contains(kept, []byte("gpt-6.1-sol")) {
		t.Errorf("the recording holds the key, or not the model:\n%s", kept)
	}

	provider.Close()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Env = nil
	s.Start(t)
	again, _ := cadre(t, s, "run", "teller", "-m", "What is in a.txt?", "-w", work, "--schema", filepath.Join(dir, "schema.json"), "--model", "replay:"+tape)
	if want := strings.ReplaceAll(live, secretKey, "[secret]"); again != want {
		t.Errorf("the replay says %q, the model said %q", again, want)
	}
	if len(host.requests()) != 2 {
		t.Error("the replay asked the host")
	}
}

// Images reach the provider as it wants them.
func TestAnAttachedImageReachesTheProvider(t *testing.T) {
	t.Parallel()
	host := &responses{}
	provider := httptest.NewServer(host)
	defer provider.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agent.yaml"), "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: seer}\nspec:\n  instructions: Say what you see.\n  model: openai/gpt-6-sol\n")
	write(t, filepath.Join(dir, "dot.png"), dot)
	write(t, filepath.Join(dir, "notes.md"), "# Notes\n")
	s := built.New(t, filepath.Join(dir, "data"))
	s.Env = []string{"OPENAI_API_KEY=" + secretKey, "OPENAI_BASE_URL=" + provider.URL + "/v1"}
	s.Start(t)
	cadre(t, s, "apply", "-f", filepath.Join(dir, "agent.yaml"))
	cadre(t, s, "run", "seer", "-m", "What is this?", "--attach", filepath.Join(dir, "dot.png"), "--attach", filepath.Join(dir, "notes.md"))
	input, _ := json.Marshal(host.requests()[0]["input"])
	if !strings.Contains(string(input), `"input_image"`) || !strings.Contains(string(input), "data:image/png;base64,iVBORw0KGg") || !strings.Contains(string(input), "# Notes") {
		t.Errorf("the request's input is %s", input)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
