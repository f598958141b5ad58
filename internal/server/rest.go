package server

import (
	"bytes"
	"encoding/json"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	"github.com/cadre-dev/cadre/internal/fault"
)

// restHandler transcodes the REST paths to the mounted methods.
func restHandler(mux http.Handler, services []string) (http.Handler, error) {
	var all []*vanguard.Service
	for _, name := range services {
		all = append(all, vanguard.NewService("/"+name+"/", mux))
	}
	t, err := vanguard.NewTranscoder(all, vanguard.WithCodec(restJSON), vanguard.WithUnknownHandler(http.HandlerFunc(notFound)))
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &corrector{ResponseWriter: w}
		t.ServeHTTP(c, r)
		c.finish()
	}), nil
}

// corrector gives requests that the transcoder itself cannot read the status
// 400. The transcoder calls those unknown errors; the dispatcher never answers
// one, so that every unknown error is the request's fault.
type corrector struct {
	http.ResponseWriter
	held *bytes.Buffer // the body of a 500 until it was looked at
}

// WriteHeader holds back what may be corrected.
func (c *corrector) WriteHeader(status int) {
	if status == http.StatusInternalServerError {
		c.held = &bytes.Buffer{}
		return
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write passes on, or holds back.
func (c *corrector) Write(p []byte) (int, error) {
	if c.held != nil {
		return c.held.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// Flush sends what was written, unless it is held back.
func (c *corrector) Flush() {
	if c.held == nil {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
	}
}

// Unwrap lets the response controller reach the connection.
func (c *corrector) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *corrector) finish() {
	if c.held == nil {
		return
	}
	var status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(c.held.Bytes(), &status) == nil && status.Code == int(connect.CodeUnknown) {
		c.Header().Del("Content-Length")
		writeError(c.ResponseWriter, fault.New(fault.InvalidArgument, "BAD_REQUEST", "the request cannot be read: %s", status.Message))
		return
	}
	c.ResponseWriter.WriteHeader(http.StatusInternalServerError)
	_, _ = c.ResponseWriter.Write(c.held.Bytes())
}
