package model

import (
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

// HTTPClient makes the client that providers hand to their SDK, or use
// themselves. It follows no redirect, since a key must not travel to where
// somebody else points. What fails in it is a *Error already: a response that is
// not 2xx as FromResponse reads it, a connection that is refused or cut as Network,
// at any moment up to the end of a body. An SDK wraps such an error; errors.As
// finds it. It sends no header that tells of this machine.
//
// It has no time limit of its own: contexts end requests.
func HTTPClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32
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

// RoundTrip sends a request.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") { // SDKs tell the system and its versions
			delete(req.Header, name)
		}
	}
	req.Header.Set("User-Agent", "cadre")
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, cutOff(req.Context(), err)
	}
	if res.StatusCode/100 == 2 {
		res.Body = body{req.Context(), res.Body}
		return res, nil
	}
	defer res.Body.Close()
	words, _ := io.ReadAll(io.LimitReader(res.Body, errorBodyLimit)) // what came is enough
	return nil, FromResponse(res.StatusCode, res.Header, words, time.Now())
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
}

// Read reads.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = cutOff(b.ctx, err)
	}
	return n, err
}

// cutOff explains a connection that did not hold, unless we ended it ourselves.
func cutOff(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{Category: Network, Message: cut(err.Error(), MessageLimit)}
}
