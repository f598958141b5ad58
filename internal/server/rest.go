package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	"github.com/cadre-dev/cadre/internal/fault"
)

// restHandler transcodes the REST paths to the mounted methods.
func (s *Server) restHandler(mux http.Handler, services []string) (http.Handler, error) {
	var all []*vanguard.Service
	for _, name := range services {
		all = append(all, vanguard.NewService("/"+name+"/", mux))
	}
	t, err := vanguard.NewTranscoder(all, vanguard.WithCodec(restJSON), vanguard.WithUnknownHandler(http.HandlerFunc(s.notFound)))
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &corrector{ResponseWriter: w}
		t.ServeHTTP(c, r)
		c.finish(s.opt.Dispatcher, r)
	}), nil
}

// corrector gives the errors of the transcoder itself, about requests that it
// cannot read, the form of all others: code, reason and error id. The
// dispatcher's own errors have them and pass as they are.
type corrector struct {
	http.ResponseWriter
	status int           // of an answer that is held back; 0 for none
	held   *bytes.Buffer // its body, until it was looked at
}

// WriteHeader holds errors back.
func (c *corrector) WriteHeader(status int) {
	if status >= http.StatusBadRequest && c.held == nil {
		c.status, c.held = status, &bytes.Buffer{}
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

// finish sends what was held back.
func (c *corrector) finish(d *Dispatcher, r *http.Request) {
	if c.held == nil {
		return
	}
	var said struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Details []json.RawMessage `json:"details"`
	}
	if json.Unmarshal(c.held.Bytes(), &said) == nil && len(said.Details) > 0 {
		c.ResponseWriter.WriteHeader(c.status)
		_, _ = c.ResponseWriter.Write(c.held.Bytes())
		return
	}
	c.Header().Del("Content-Length")
	if c.status == http.StatusMethodNotAllowed {
		d.refuseWith(c.ResponseWriter, r, c.status, fault.New(fault.Unimplemented, "METHOD_NOT_ALLOWED", "%s is no method of %s; it has %s", r.Method, r.URL.Path, c.Header().Get("Allow")))
		return
	}
	d.refuse(c.ResponseWriter, r, unread(connect.Code(said.Code), said.Message))
}

// unread is the fault of a request that the transcoder did not pass on. It calls
// some of them unknown errors; the dispatcher never answers one, so that these
// are the request's fault as well.
func unread(code connect.Code, message string) *fault.Fault {
	message = strings.TrimPrefix(strings.Join(strings.Fields(message), " "), "proto: ")
	for ours, theirs := range codes {
		if theirs == code && ours != fault.InvalidArgument && ours != fault.Internal {
			return fault.New(ours, strings.ToUpper(string(ours)), "%s", message)
		}
	}
	return fault.New(fault.InvalidArgument, "BAD_REQUEST", "the request cannot be read: %s", message)
}
