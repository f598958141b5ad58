package model_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"openai/gpt-5":                {"openai", "gpt-5"},
		"openai/ft:gpt:x/y":           {"openai", "ft:gpt:x/y"},
		"openai-chat:ollama/qwen3:8b": {"openai-chat", "ollama/qwen3:8b"},
		"openai-chat:openrouter/a/b":  {"openai-chat", "openrouter/a/b"},
		"anthropic/claude":            {"anthropic", "claude"},
		"gemini/g":                    {"gemini", "g"},
		"scripted:/a/b c.yaml":        {"scripted", "/a/b c.yaml"},
		"replay:/a:b":                 {"replay", "/a:b"},
		"acme/x":                      {"acme", "x"},
		"acme:x":                      {"acme", "x"},
	} {
		provider, id, err := model.ParseName(name)
		if provider != want[0] || id != want[1] || err != nil {
			t.Errorf("ParseName(%q) = %q, %q, %v, want %q", name, provider, id, err, want)
		}
	}
}

func TestParseNameRefuses(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"gpt-5":           "openai/gpt-5",
		"scripted":        "scripted:<file>",
		"anthropc":        "anthropic/<id>",
		"openai:gpt-5":    "openai/<id>",
		"scripted/a.yaml": "scripted:<file>",
		"openai/":         "openai/<id>",
		"/x":              "/<id>",
		"openai-chat/x":   "openai-chat:<host>/<id>",
		"openai-chat:x":   "openai-chat:<host>/<id>",
		"openai-chat:/x":  "openai-chat:<host>/<id>",
		"openai-chat:x/":  "openai-chat:<host>/<id>",
	} {
		_, _, err := model.ParseName(name)
		if m := fault.From(err).Message; fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(m, says) || !strings.Contains(m, name) {
			t.Errorf("ParseName(%q): %v, want how to write it: %s", name, err, says)
		}
	}
	for _, name := range []string{"", "  "} {
		_, _, err := model.ParseName(name)
		if !errors.Is(err, model.ErrNoModel) {
			t.Errorf("ParseName(%q): %v, want ErrNoModel", name, err)
		}
		for _, part := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "--model scripted:FILE"} {
			if !strings.Contains(fault.From(err).Message, part) {
				t.Errorf("%q does not name %s", fault.From(err).Message, part)
			}
		}
	}
}

// provider remembers what it was asked for.
type provider struct {
	model.Provider
	id string
}

func (p *provider) Open(_ context.Context, id string) (model.Model, error) {
	p.id = id
	return nil, nil
}

func (p *provider) Fingerprint(_ context.Context, id string) (string, error) {
	return "print of " + id, nil
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	p, opened := &provider{}, atomic.Int32{}
	fails := errors.New("the first time it fails")
	r, err := model.NewRegistry([]model.Registration{
		{Name: "scripted", Open: func(func(string) string) (model.Provider, error) {
			if opened.Add(1) == 1 {
				return nil, fails
			}
			return p, nil
		}},
		{Name: "acme", Open: func(func(string) string) (model.Provider, error) { return p, nil }},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), "scripted:/f"); !errors.Is(err, fails) {
		t.Errorf("a provider that does not open: %v", err)
	}
	for range 2 {
		if _, err := r.Open(t.Context(), "scripted:/f"); err != nil || p.id != "/f" {
			t.Errorf("Open asks for %q, %v", p.id, err)
		}
	}
	if opened.Load() != 2 {
		t.Errorf("the provider was opened %d times, want a failure and a success", opened.Load())
	}
	if got, err := r.Fingerprint(t.Context(), "acme/x"); got != "print of x" || err != nil {
		t.Errorf("Fingerprint = %q, %v", got, err)
	}
	if got := strings.Join(r.Names(), " "); got != "acme scripted" {
		t.Errorf("Names = %s", got)
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	r, err := model.NewRegistry([]model.Registration{{Name: "scripted", Open: func(func(string) string) (model.Provider, error) { return &provider{}, nil }}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		code fault.Code
		says string
	}{
		"openai/x":        {fault.Unimplemented, "openai will come"},
		"openai-chat:h/x": {fault.Unimplemented, "openai-chat will come"},
		"anthropic/x":     {fault.Unimplemented, "anthropic will come"},
		"gemini/x":        {fault.Unimplemented, "gemini will come"},
		"replay:/x":       {fault.Unimplemented, "replay will come"},
		"scriptd:/x":      {fault.InvalidArgument, `mean "scripted"`},
		"opnai/x":         {fault.InvalidArgument, `mean "openai"`},
		"zzz/x":           {fault.InvalidArgument, `"zzz"`},
		"":                {fault.FailedPrecondition, "--model"},
	} {
		_, err := r.Open(t.Context(), name)
		m := fault.From(err).Message
		if fault.CodeOf(err) != want.code || !strings.Contains(m, want.says) || !strings.Contains(m, "scripted:") {
			t.Errorf("Open(%q): %v, want %s, %q and what works now", name, err, want.code, want.says)
		}
		if _, err := r.Fingerprint(t.Context(), name); fault.CodeOf(err) != want.code {
			t.Errorf("Fingerprint(%q): %v, want %s", name, err, want.code)
		}
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	t.Parallel()
	open := func(func(string) string) (model.Provider, error) { return nil, nil }
	for says, list := range map[string][]model.Registration{
		"two model providers are called a": {{Name: "a", Open: open}, {Name: "a", Open: open}},
		`"A/b"`:                            {{Name: "A/b", Open: open}},
		`""`:                               {{Open: open}},
		"Open is nil":                      {{Name: "a"}},
	} {
		if _, err := model.NewRegistry(list, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("NewRegistry: %v, want %q", err, says)
		}
	}
}
