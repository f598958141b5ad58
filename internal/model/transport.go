package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// errorBodyLimit bounds, in bytes, what is read of a response that is an error.
const errorBodyLimit = 64 << 10

// shortestKey is the least length, in bytes, of what is taken for a key: what is
// shorter may stand in any text.
const shortestKey = 8

// HTTPClient makes the client that providers hand to their SDK, or use
// themselves. It follows no redirect, since a key must not travel to where
// somebody else points. What fails in it is a *Error already: a response that is
// not 2xx as FromResponse reads it, a connection that is refused or cut as Network,
// at any moment up to the end of a body. An SDK wraps such an error; errors.As
// finds it. The key that a request was sent with is in no such error. It sends no
// header that tells of this machine.
//
// It has no time limit of its own: contexts end requests, and WithIdle bounds their silence.
func HTTPClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
	t.DisableCompression = true // a compressed stream comes in blocks, not in words
	return &http.Client{
		Transport:     transport{t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// OnSent has sent called once when the first byte of a request is about to leave.
// sent may be nil.
func OnSent(ctx context.Context, sent func()) context.Context {
	if sent == nil {
		return ctx
	}
	var once sync.Once
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { once.Do(sent) },
	})
}

// transport turns what fails into *Error.
type transport struct{ next http.RoundTripper }

// transportKey finds what WithTransport put into a context.
type transportKey struct{}

// WithTransport has the requests of HTTPClient's clients that are made with the
// answered context pass through what wrap makes of their transport: it sees them as they
// leave, and responses as they came, before errors are made of them. A provider
// knows nothing of it. The wrapper may answer by itself and never call the
// transport it was given. Of two wrappers, the one that was added last counts.
func WithTransport(ctx context.Context, wrap func(http.RoundTripper) http.RoundTripper) context.Context {
	return context.WithValue(ctx, transportKey{}, wrap)
}

// RoundTrip sends a request.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") { // SDKs tell the system and its versions
			delete(req.Header, name)
		}
	}
	req.Header.Set("User-Agent", "cadre")
	next := t.next
	if wrap, ok := req.Context().Value(transportKey{}).(func(http.RoundTripper) http.RoundTripper); ok {
		next = wrap(next)
	}
	req, dog := watch(req)
	res, err := next.RoundTrip(req)
	if err != nil {
		defer dog.end()
		return nil, cutOff(req.Context(), err)
	}
	dog.fed()
	if res.StatusCode/100 == 2 {
		res.Body = body{req.Context(), res.Body, dog}
		return res, nil
	}
	defer dog.end()
	defer res.Body.Close()
	words, _ := io.ReadAll(io.LimitReader(res.Body, errorBodyLimit)) // what came is enough
	return nil, FromResponse(res.StatusCode, res.Header, withoutKeys(words, req.Header), time.Now())
}

// withoutKeys takes out of an error's words the keys that the request was sent with,
// since some servers repeat them.
func withoutKeys(words []byte, header http.Header) []byte {
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		for _, value := range header[name] {
			if key := strings.TrimPrefix(value, "Bearer "); len(key) >= shortestKey {
				words = bytes.ReplaceAll(words, []byte(key), []byte("[secret]"))
			}
		}
	}
	return words
}

// CloseIdleConnections frees what waits for the next request.
func (t transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// body says Network when it is cut.
type body struct {
	ctx context.Context
	io.ReadCloser
	dog watchdog
}

// Close ends the reading.
func (b body) Close() error {
	defer b.dog.end()
	return b.ReadCloser.Close()
}

// Read reads.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.dog.fed()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = cutOff(b.ctx, err)
	}
	return n, err
}

// cutOff explains a connection that did not hold, unless we ended it ourselves. What
// is a *Error already stays as it is.
func cutOff(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return &Error{Category: Network, Message: cut(err.Error(), MessageLimit)}
}
