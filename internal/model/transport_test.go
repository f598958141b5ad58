package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
)

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func get(ctx context.Context, t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := model.HTTPClient()
	defer c.CloseIdleConnections()
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return string(data), err
}

func response(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

func TestAContextsTransportSeesRequestsAsTheyLeave(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Added"))
	}))
	t.Cleanup(host.Close)
	seen := 0
	ctx := model.WithTransport(t.Context(), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			seen++
			if agent := r.Header.Get("User-Agent"); agent != "cadre" {
				t.Errorf("the user agent is %q", agent)
			}
			r = r.Clone(r.Context())
			r.Header.Set("X-Added", "by the wrapper")
			return next.RoundTrip(r)
		})
	})
	if body, err := get(ctx, t, host.URL); body != "by the wrapper" || err != nil || seen != 1 {
		t.Errorf("%q, %v, %d requests", body, err, seen)
	}
	if body, err := get(t.Context(), t, host.URL); body != "" || err != nil || seen != 1 {
		t.Errorf("a request without the context's wrapper: %q, %v, %d", body, err, seen)
	}
}

func TestAContextsTransportMayAnswerByItself(t *testing.T) {
	t.Parallel()
	own := &model.Error{Category: model.BadRequest, Code: "own"}
	for name, c := range map[string]struct {
		answer roundTrip
		want   model.Error
		body   string
	}{
		"answer":  {func(r *http.Request) (*http.Response, error) { return response(r, 200, "yes"), nil }, model.Error{}, "yes"},
		"status":  {func(r *http.Request) (*http.Response, error) { return response(r, 500, ""), nil }, model.Error{Category: model.ServerError}, ""},
		"network": {func(*http.Request) (*http.Response, error) { return nil, errors.New("gone") }, model.Error{Category: model.Network}, ""},
		"own":     {func(*http.Request) (*http.Response, error) { return nil, own }, *own, ""},
	} {
		ctx := model.WithTransport(t.Context(), func(http.RoundTripper) http.RoundTripper { return c.answer })
		body, err := get(ctx, t, "http://127.0.0.1:1/nobody")
		var e *model.Error
		if !errors.As(err, &e) {
			e = &model.Error{}
		}
		if body != c.body || e.Category != c.want.Category || e.Code != c.want.Code {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
}
