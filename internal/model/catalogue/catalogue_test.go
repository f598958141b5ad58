package catalogue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model/catalogue"
)

var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func built(t *testing.T, own string) *catalogue.Catalogue {
	t.Helper()
	data := []byte(own)
	if own == "" {
		data = nil
	}
	c, err := catalogue.New("own.json", data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheBuiltInListIsWhole(t *testing.T) {
	t.Parallel()
	defaults := 0
	for _, e := range built(t, "").All() {
		if e.Own || e.Description == "" || len(e.Abilities) == 0 {
			t.Errorf("%s is not described", e.Name)
		}
		if e.Default {
			defaults++
		}
	}
	if defaults != 3 {
		t.Errorf("%d defaults, want one per provider with keys", defaults)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	c := built(t, `{"models":[{"name":"openai-chat:groq/fast-*","contextWindow":7}]}`)
	for name, want := range map[string]string{
		"openai/gpt-6-sol":                    "openai/gpt-6-sol",
		"openai/gpt-6-sol-2026-09-22":         "openai/gpt-6-sol",
		"anthropic/claude-haiku-4-5-20251001": "anthropic/claude-haiku-4-5",
		"anthropic/claude-haiku-4-5-latest":   "anthropic/claude-haiku-4-5",
		"openai/gpt-6-sol-pro":                "",
		"openai/gpt-6-sol-2026-99-99":         "",
		"openai-chat:ollama/llama3.3":         "openai-chat:ollama/*",
		"openai-chat:groq/fast-one":           "openai-chat:groq/fast-*",
		"openai-chat:groq/slow":               "openai-chat:groq/*",
		"scripted:/a/b.yaml":                  "scripted:*",
		"":                                    "",
	} {
		e, ok := c.Find(name)
		if e.Name != want || ok != (want != "") {
			t.Errorf("Find(%q) = %q, %v, want %q", name, e.Name, ok, want)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	c := built(t, "")
	use := func(in, cached, written, out int64) *messagev1.Usage {
		return &messagev1.Usage{InputTokens: in, CachedInputTokens: cached, CacheWriteInputTokens: written, OutputTokens: out}
	}
	for name, test := range map[string]struct {
		model    string
		at       time.Time
		usage    *messagev1.Usage
		nano     int64
		unpriced int32
	}{
		"plain":               {"anthropic/claude-sonnet-5-5", today, use(1000, 0, 0, 100), 3_000_000, 0},
		"cached":              {"anthropic/claude-sonnet-5-5", today, use(1000, 600, 300, 0), 1_070_000, 0}, // 100·2 + 600·0.2 + 300·2.5
		"cache without own":   {"gemini/gemini-2.5-flash", today, use(1000, 1000, 0, 0), 300_000, 0},
		"at the border":       {"openai/gpt-6-sol", today, use(272_000, 0, 0, 0), 544_000_000, 0},
		"above the border":    {"openai/gpt-6-sol", today, use(272_001, 0, 0, 1), 1_088_019_000, 0},
		"before a change":     {"gemini/gemini-3.8-flash", today, use(1_000_000, 0, 0, 0), 750_000_000, 0},
		"after a change":      {"gemini/gemini-3.8-flash", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), use(1_000_000, 0, 0, 0), 1_500_000_000, 0},
		"own machines":        {"openai-chat:ollama/x", today, use(1000, 0, 0, 100), 0, 0},
		"unknown model":       {"openai/gpt-0", today, use(1000, 0, 0, 100), 0, 1},
		"unknown price":       {"openai-chat:groq/x", today, use(1000, 0, 0, 100), 0, 1},
		"more cached than in": {"anthropic/claude-sonnet-5-5", today, use(10, 50, 50, 0), 2000, 0},
		"no tokens":           {"openai/gpt-6-sol", today, use(0, 0, 0, 0), 0, 0},
	} {
		c.Cost(test.model, test.usage, test.at)
		if test.usage.GetCostNanoUsd() != test.nano || test.usage.GetUnpricedCalls() != test.unpriced {
			t.Errorf("%s: %d nano, %d unpriced; want %d, %d", name, test.usage.GetCostNanoUsd(), test.usage.GetUnpricedCalls(), test.nano, test.unpriced)
		}
	}
}

func TestTheOwnFileWins(t *testing.T) {
	t.Parallel()
	c := built(t, `{"models":[
		{"name":"openai/gpt-6-sol","prices":[{"input":1,"output":1,"asOf":"2026-11-01","source":"our contract"}]},
		{"name":"openai-chat:vllm/qwen","default":true,"abilities":["tools","images"]}]}`)
	e, _ := c.Find("openai/gpt-6-sol")
	if !e.Own || e.ContextWindow != 0 || e.PriceAt(today).Source != "our contract" {
		t.Errorf("the entry is %+v", e)
	}
	if got := c.Default(func(string) bool { return true }); got != "openai-chat:vllm/qwen" {
		t.Errorf("the default is %q", got)
	}
	if got := c.Default(func(n string) bool { return strings.HasPrefix(n, "gemini/") }); got != "" {
		t.Errorf("an operator's default leaves %q", got)
	}
	if got := built(t, "").Default(func(n string) bool { return !strings.HasPrefix(n, "openai/") }); got != "anthropic/claude-sonnet-5-5" {
		t.Errorf("without OpenAI the default is %q", got)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := func(string) string { return "" }
	if _, err := catalogue.Open(dir, none); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, catalogue.FileName), []byte(`{"models":[{"name":"openai/mine"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Open(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := c.Find("openai/mine"); !ok || !e.Own {
		t.Error("the file of the data folder is not read")
	}
	_, err = catalogue.Open(dir, func(string) string { return filepath.Join(dir, "none.json") })
	if fault.ReasonOf(err) != "MODELS_FILE_UNREADABLE" {
		t.Errorf("a missing file that is named: %v", err)
	}
}

func TestABadFileSaysWhereAndWhat(t *testing.T) {
	t.Parallel()
	price := func(s string) string { return `{"models":[{"name":"openai/x","prices":[` + s + `]}]}` }
	for own, says := range map[string]string{
		"":                                   "line 1",
		"null":                               "no models",
		`{"models":[{"name":"openai/g*t"}]}`: "at the end",
		price(`{"output":1,"asOf":"2026-01-01","source":"s"}`):                                            "`input` and `output`",
		price(`{"input":1,"output":1,"longAbove":5,"long":{"input":1},"asOf":"2026-01-01","source":"s"}`): "`input` and `output`",
		"{":                                   "line 1",
		"{\"models\":[\n{\"name\":\"gpt\"}]}": "must be a model's name",
		"{\"models\":[\n{\"nme\":\"openai/x\"}\n]\n}":            `line 2: unknown field "nme". Did you mean "name"?`,
		`{"models":[{"name":"openai/x"},{"name":"openai/x"}]}`:   "twice",
		`{"models":[{"name":"openai/x","abilities":["image"]}]}`: `"images"`,
		`{"models":[{"name":"openai/x","contextWindow":"big"}]}`: "contextWindow must be int64, not string",
		`{"models":[{"name":"openai/*","default":true}]}`:        "whole name",
		`{"models":[]} x`: "something follows",
		price(`{"input":1,"output":1,"source":"s"}`):                                                                             "`asOf`",
		price(`{"input":1,"output":1,"asOf":"2026-01-01"}`):                                                                      "`source`",
		price(`{"input":-1,"output":1,"asOf":"2026-01-01","source":"s"}`):                                                        "dollars per million",
		price(`{"input":1,"output":1,"longAbove":5,"asOf":"2026-01-01","source":"s"}`):                                           "belong together",
		price(`{"input":1,"output":1,"asOf":"2026-01-01","source":"s"},{"input":1,"output":1,"asOf":"2026-01-01","source":"s"}`): "order",
	} {
		_, err := catalogue.New("own.json", []byte(own))
		if fault.ReasonOf(err) != "MODELS_FILE_INVALID" || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "own.json") {
			t.Errorf("%s gives %v, want %q", own, err, says)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add([]byte(`{"models":[{"name":"openai/x","prices":[{"input":1,"output":2,"asOf":"2026-01-01","source":"s"}]}]}`))
	f.Fuzz(func(t *testing.T, own []byte) {
		c, err := catalogue.New("own.json", own)
		if err != nil {
			return
		}
		for _, e := range c.All() {
			u := &messagev1.Usage{InputTokens: 1 << 40, OutputTokens: 1 << 40}
			c.Cost(e.Name, u, today)
			if u.GetCostNanoUsd() < 0 {
				t.Errorf("%s costs %d", e.Name, u.GetCostNanoUsd())
			}
		}
	})
}
