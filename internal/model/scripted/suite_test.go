package scripted_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
	"github.com/cadre-dev/cadre/internal/model/scripted"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Driver{
		Provider: "scripted",
		Open: func(t *testing.T, s modeltest.Scenario) model.Model {
			t.Helper()
			var steps []any
			for _, a := range s.Answers {
				steps = append(steps, step(a))
			}
			data, err := json.Marshal(map[string]any{"steps": steps}) // JSON is YAML
			if err != nil {
				t.Fatal(err)
			}
			return open(t, string(data))
		},
	})
}

// step writes an answer as a step of a script.
func step(a modeltest.Answer) map[string]any {
	s := map[string]any{"text": strings.Join(a.Text, ""), "reasoning": a.Reasoning, "hang": a.Stall, "usage": "none"}
	if len(a.Text) > 0 {
		s["chunk"] = utf8.RuneCountInString(a.Text[0])
	}
	if a.Finish != "" {
		s["finish"] = a.Finish
	}
	if u := a.Usage; u != nil {
		s["usage"] = map[string]any{"input": u.InputTokens, "output": u.OutputTokens, "cached": u.CachedInputTokens, "reasoning": u.ReasoningTokens}
	}
	if e := a.Fail; e != nil {
		s["error"] = map[string]any{"category": e.Category, "message": e.Message, "retry_after": e.RetryAfter / time.Second, "after_chunks": len(a.Text)}
	}
	var calls []any
	for _, c := range a.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Args)})
	}
	if calls != nil {
		s["tools"] = calls
	}
	return s
}

// write keeps a script in a file.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, text string) model.Model {
	t.Helper()
	m, err := scripted.New().Open(t.Context(), write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
