package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
)

// silent answers so many bytes, each when it is told to, and then nothing.
func silent(t *testing.T, header bool, next <-chan struct{}) string {
	t.Helper()
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w).Flush
		if header {
			_ = flush()
		}
		for {
			select {
			case _, more := <-next:
				if !more {
					next = nil
					continue
				}
				_, _ = w.Write([]byte("."))
				_ = flush()
			case <-gone:
				return
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(gone) })
	return s.URL
}

// fetch reads a response to its end.
func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := model.HTTPClient().Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return string(data), err
}

// A request that no byte comes of for too long ends, before its header and in its body, and
// says how long it was.
func TestASilentRequestEnds(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]bool{"before the header": false, "in the body": true} {
		next := make(chan struct{})
		close(next)
		_, err := fetch(model.WithIdle(t.Context(), 50*time.Millisecond), silent(t, header, next))
		var e *model.Error
		if !errors.As(err, &e) || e.Category != model.Timeout || e.Idle != 50*time.Millisecond {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Each byte begins the time anew; the caller's own end stays what it is.
func TestBytesKeepARequestAlive(t *testing.T) {
	t.Parallel()
	const idle = time.Second
	next := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(next)
		for range 8 {
			<-time.After(idle / 4)
			next <- struct{}{}
		}
	}()
	got, err := fetch(model.WithIdle(t.Context(), idle), silent(t, true, next))
	var e *model.Error
	if !errors.As(err, &e) || e.Idle != idle || got != "........" {
		t.Errorf("%q came, then %v", got, err)
	}
	if took := time.Since(began); took < 3*idle {
		t.Errorf("it ended after %s", took)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := fetch(model.WithIdle(ctx, idle), "http://127.0.0.1:1"); !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was told to end gave %v", err)
	}
}
