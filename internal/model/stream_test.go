package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
)

var errCause = errors.New("the caller's cause")

// produced collects what a stream yields.
func produced(ctx context.Context, produce func(context.Context, func(model.Part) bool) error) (text string, done bool, err error) {
	for p, e := range model.Stream(ctx, produce) {
		text += p.Text
		done = done || p.Done != nil
		err = e
	}
	return text, done, err
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	held := &model.Error{Category: model.RateLimited, Message: "slow"}
	for name, c := range map[string]struct {
		text    string
		end     bool
		err     error
		want    model.Category
		started bool
	}{
		"whole":            {"a", true, nil, "", false},
		"without terminal": {"a", false, nil, model.Malformed, true},
		"nothing":          {"", false, nil, model.Malformed, false},
		"typed":            {"", false, held, model.RateLimited, false},
		"typed, wrapped":   {"a", false, fmt.Errorf("sdk: %w", held), model.RateLimited, true},
		"another":          {"a", false, errors.New("bad JSON"), model.Malformed, true},
		"behind Done":      {"a", true, held, model.RateLimited, true},
	} {
		text, done, err := produced(t.Context(), func(_ context.Context, give func(model.Part) bool) error {
			if c.text != "" {
				give(model.Part{Text: c.text})
			}
			if c.end {
				give(model.Part{Done: &model.Done{}})
			}
			return c.err
		})
		var e *model.Error
		if errors.As(err, &e); c.want == "" && err != nil || c.want != "" && (e == nil || e.Category != c.want || e.Started != c.started || e.Message == "") {
			t.Errorf("%s ends with %+v", name, err)
		}
		if text != c.text || done != c.end {
			t.Errorf("%s gives %q, %v", name, text, done)
		}
	}
	if held.Started {
		t.Error("the error that others may hold was changed")
	}
}

func TestStreamIsFreed(t *testing.T) {
	t.Parallel()
	freed := false
	for range model.Stream(t.Context(), func(ctx context.Context, give func(model.Part) bool) error {
		if give(model.Part{Text: "a"}) {
			t.Error("give says that somebody listens")
		}
		<-ctx.Done()
		freed = !give(model.Part{Text: "b"})
		return ctx.Err()
	}) {
		break
	}
	if !freed {
		t.Error("who breaks off does not free the production")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	text, _, err := produced(ctx, func(inner context.Context, give func(model.Part) bool) error {
		cancel(errCause)
		<-inner.Done()
		return &model.Error{Category: model.Network}
	})
	if text != "" || !errors.Is(err, errCause) {
		t.Errorf("a cancelled stream ends with %q, %v, want the cause", text, err)
	}
	_, _, err = produced(ctx, func(context.Context, func(model.Part) bool) error {
		t.Error("a stream whose context has ended is produced")
		return nil
	})
	if !errors.Is(err, errCause) {
		t.Errorf("it ends with %v", err)
	}
}

// TestHTTPClient: no redirect is followed, nothing is told of the machine, and an
// error's body is read to a limit.
func TestHTTPClient(t *testing.T) {
	t.Parallel()
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
		case "/big":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30)) // ends when the client goes
		case "/echo":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":"no such key: %s, %s"}`, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		default:
			_, _ = io.WriteString(w, "fine")
		}
	}))
	defer s.Close()
	client := model.HTTPClient()
	defer client.CloseIdleConnections()
	get := func(path string) (string, error) {
		sent := 0
		ctx := model.OnSent(t.Context(), func() { sent++ })
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Stainless-Os", "secret")
		req.Header.Set("Authorization", "Bearer sentinel-1")
		req.Header.Set("X-Api-Key", "sentinel-2")
		res, err := client.Do(req)
		if sent != 1 {
			t.Errorf("%s: sent was called %d times", path, sent)
		}
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		return string(data), err
	}
	if text, err := get("/ok"); text != "fine" || err != nil || got.Get("X-Stainless-Os") != "" || got.Get("User-Agent") != "cadre" || got.Get("Authorization") != "Bearer sentinel-1" || got.Get("Accept-Encoding") != "" {
		t.Errorf("a request gives %q, %v; its headers were %v", text, err, got)
	}
	for path, status := range map[string]int{"/moved": 307, "/big": 502, "/echo": 401} {
		_, err := get(path)
		var e *model.Error
		if !errors.As(err, &e) || e.Status != status || len(e.Message) > model.MessageLimit || strings.Contains(err.Error(), "sentinel") {
			t.Errorf("%s gives %v, want the status %d and no key", path, err, status)
		}
	}
	if ctx := t.Context(); model.OnSent(ctx, nil) != ctx {
		t.Error("without sent the context is another")
	}
}

// endless is text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat("x", len(p))), nil }

func TestStrictSchema(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                                                                                                               true,
		`{"type":"object","properties":{},"additionalProperties":false}`:                                                                                                                                                                                     true,
		`{"type":"object","properties":{"a":{"type":"string","enum":[{"type":"object"}]}},"required":["a"],"additionalProperties":false}`:                                                                                                                    true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`:                                                                                                                                                  false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                                                                                                            false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:                                                                                                                      false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":["object","null"],"properties":{"b":{}}}]}},"required":["a"],"additionalProperties":false}`:                                                                                                    false,
		`{"$schema":"x","type":"object","properties":{"type":{"$ref":"#/$defs/a"},"enum":{"anyOf":[{"type":"null"},{"type":"string","format":"date"}]}},"required":["type","enum"],"additionalProperties":false,"$defs":{"a":{"type":"integer","const":1}}}`: true,
		`{"type":"object","properties":{"a":{"enum":["b"]}},"required":["a"],"additionalProperties":false}`:                                                                                                                                                  false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a","description":"b"}},"required":["a"],"additionalProperties":false}`:                                                                                                                          false,
		`{"type":"object","properties":{"a":{"$ref":"https://x"}},"required":["a"],"additionalProperties":false}`:                                                                                                                                            false,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"null"}]}},"required":["a"],"additionalProperties":false}`:                                                                                                                                     false,
		`{"type":"object","properties":{"a":{"type":"string","default":"b"}},"required":["a"],"additionalProperties":false}`:                                                                                                                                 false,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                                                                                                                                 false,
		`{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"],"additionalProperties":false}`:                                                                                                                                false,
		`{"type":"object","properties":{"enum":{"type":"object"}},"required":["enum"],"additionalProperties":false}`:                                                                                                                                         false,
		`{"type":"object","properties":{},"additionalProperties":false,"patternProperties":{}}`:                                                                                                                                                              false,
		`{"type":"object","properties":{},"additionalProperties":true}`:                                                                                                                                                                                      false,
		`{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`:                                                                                                                                                              false,
		`{"type":"object","properties":{"a":true},"required":["a"],"additionalProperties":false}`:                                                                                                                                                            false,
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 9) + `{"type":"null"}` + strings.Repeat("}", 9) + `},"required":["a"],"additionalProperties":false}`:                                                              true,
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 10) + `{"type":"null"}` + strings.Repeat("}", 10) + `},"required":["a"],"additionalProperties":false}`:                                                            false,
		`{"type":"array","items":{}}`: false,
		`true`:                        false,
		``:                            false,
	} {
		if got := model.StrictSchema([]byte(schema)); got != want {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
}
