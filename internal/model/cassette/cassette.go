// Package cassette keeps the traffic between a provider and its host in a file, so
// that it can be played again without the host: Record writes one, Load reads one.
//
// Promise: only whole exchanges are in a file, also after a crash; the bytes of a
// response's body come back as they were, except where a secret stood in them. No
// header of a request is kept but its content type, and what a request was
// authorized with stands nowhere in the file.
//
// Not promised: the pace at which bytes came, and the pieces in which they came.
// One server at a time may record to a file. The format is described in
// docs/reference/cassettes.md.
package cassette

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// Version is the version of the format that this package writes and reads.
const Version = 1

// largest is the largest cassette, in bytes.
const largest = 64 << 20

// Cassette is one file. It is never changed after it was loaded.
type Cassette struct {
	Path      string
	Model     string // the full name of the model that was recorded, such as `openai/gpt-5`
	Sum       string // SHA-256 of the file in lower-case hexadecimal
	Exchanges []Exchange
}

// Exchange is one request and what came back.
type Exchange struct {
	Number    int    // of the request within its turn, from 1; 0 when nobody knows
	Workspace string // the folder that the model was told; "" for none
	Request   Request
	Response  Response
}

// Request is what was sent.
type Request struct {
	Method string
	Path   string // with the query, without the host
	Type   string // its content type
	Body   []byte // JSON in the form of Canonical, or the bytes of something else
}

// Response is what came back.
type Response struct {
	Status int         // 0 when the connection ended before there was one
	Header http.Header // the few that say how to read the body or when to ask again
	Body   []byte
	Error  string // what cut it off; "" when it came whole
}

// keptHeaders are the headers of a response that are kept.
var keptHeaders = []string{"Content-Type", "Retry-After", "Retry-After-Ms"}

// Canonical writes JSON in one form: names in order, no space, numbers as they
// were. It answers false for what is not exactly one JSON value.
func Canonical(data []byte) ([]byte, bool) {
	if !json.Valid(data) {
		return nil, false
	}
	v, err := decode(data)
	if err != nil {
		return nil, false
	}
	out, err := encode(v)
	return out, err == nil
}

// decode reads JSON and keeps numbers as they are written.
func decode(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v)
}

// encode writes a value that decode made.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// The words around the workspace in what a model is told first.
const (
	beforeFolder = "Your workspace is the folder "
	behindFolder = ". Give tools paths relative to it."
)

// Workspace finds the folder that instructions tell the model; "" for none. It
// differs between machines and runs, so that requests are compared without it.
func Workspace(instructions string) string {
	at := strings.LastIndex(instructions, beforeFolder)
	if at < 0 {
		return ""
	}
	folder, _, ok := strings.Cut(instructions[at+len(beforeFolder):], behindFolder)
	if !ok {
		return ""
	}
	return folder
}
