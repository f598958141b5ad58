package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// How a provider's test uses this suite. It describes the provider's wire, from the
// public format, by functions that do no I/O; the suite brings the server, the
// faults and what is expected:
//
//	func TestWire(t *testing.T) {
//		t.Parallel()
//		modeltest.RunWire(t, modeltest.Wire{
//			Provider: "acme",
//			Open:     func(t *testing.T, base string) model.Model { ... key modeltest.Key, model modeltest.ModelID ... },
//			Read:     read,     // judges a request; modeltest.Headers, Strict, Shown and Keywords help
//			Answer:   answer,   // an Answer as frames
//			Refuse:   refuse,   // the body of a response that is an error
//			Event:    event,    // an error inside the stream
//			Unknown:  []byte("data: {\"type\":\"acme.new\"}\n\n"),
//		})
//	}
//
// RunWire runs Run over that server, then every fault of Faults, what a request
// says, cancellation, and the session whose transcript is testdata/session.golden.
// A provider's package that passes it says goleak.VerifyTestMain in its TestMain.
//
// Answer writes what a provider would: pieces of text as one Text frame each;
// arguments of calls in fragments and, where the wire allows it, those of several
// calls interleaved; Finish as the provider's own word (`stop`, `tool_calls` and
// `length` are neutral, `content_filter` is the provider's refusal as a finish
// reason, every other word passes through); reasoning with private bytes where the
// wire has them.

// Key and ModelID are what every provider under test is opened with.
const (
	Key     = "key-for-tests"
	ModelID = "test-model"
)

// Wire is one provider's wire. Its functions are called from several goroutines.
type Wire struct {
	// Provider is the provider's name in the history.
	Provider string
	// Open gives a model that talks to base, `http://127.0.0.1:<port>` without a path.
	Open func(t *testing.T, base string) model.Model
	// Read judges a request strictly, as far as its wire goes: path, headers, key,
	// fields, roles, schemas. The error says what is wrong and fails the test.
	Read func(r *http.Request, body []byte) (Question, error)
	// Answer gives the frames of an answer that ends well. Fail and Stall are not its concern.
	Answer func(a Answer) []Frame
	// Refuse gives the body of a response with that status.
	Refuse func(status int, why Why) Refusal
	// Event gives the frame by which the wire reports an error inside a stream; without
	// one for that reason Frame.Bytes is nil and its test is skipped by name.
	Event func(why Why) (Frame, Refusal)
	// Unknown is an event of a type that nobody knows, whole.
	Unknown []byte
	// Alive is what the wire sends to keep a connection alive; nil is a comment.
	Alive []byte
	// Unseen are media types of images that the provider does not take.
	Unseen []string
	// Skip names tests that the wire cannot have, with the reason.
	Skip map[string]string
}

// Frame is a piece of the wire: one event, as it stands in the stream.
type Frame struct {
	Kind  FrameKind
	Bytes []byte
}

// FrameKind says what a frame is for.
type FrameKind int

// The kinds of frames, in the order in which an answer has them.
const (
	Prelude FrameKind = iota // before anything of the answer
	Text                     // exactly one piece of text
	Other                    // reasoning, calls, marks of the wire
	End                      // the terminal event or events
	Tail                     // what the wire has behind it
)

// Why says what an error of the wire is about.
type Why string

// The reasons.
const (
	Plain      Why = "plain"      // what the status says
	Exhausted  Why = "quota"      // a quota is used up
	Unsafe     Why = "refused"    // for safety
	TooLong    Why = "too_long"   // longer than the model's window
	Busy       Why = "overloaded" // inside a stream only
	TooFast    Why = "rate"       // inside a stream only
	ServerFail Why = "server"     // inside a stream only
	BadInput   Why = "request"    // inside a stream only
)

// Refusal is a body that reports an error, and what it says.
type Refusal struct {
	Body string
	Code string // what model.Error.Code shall be
	Type string // what model.Error.Type shall be
}

// Question is what a request says, in neutral form. What the wire has no place for
// stays empty, and is listed in Silent.
type Question struct {
	Model           string
	Instructions    string
	History         []*messagev1.Item // consecutive parts of one answer are one assistant message; images are as Shown gives them
	Tools           []model.ToolSpec
	Effort          string
	MaxOutputTokens int
	Schema          json.RawMessage
	Strict          bool // the wire says that the answer is held to the schema strictly
	RequestID       string
	Silent          []string // fields that this wire cannot carry: RequestID, Effort, IsError, Reasoning, Strict
}

// RunWire checks a provider on its wire.
func RunWire(t *testing.T, w Wire) {
	t.Helper()
	skip := map[string]string{"Error/timeout": "the caller's timers make it, no wire does"}
	for name, why := range w.Skip {
		skip[name] = why
	}
	t.Run("Suite", func(t *testing.T) {
		t.Parallel()
		Run(t, Driver{Provider: w.Provider, Skip: skip, Open: func(t *testing.T, s Scenario) model.Model {
			t.Helper()
			m, _ := w.serve(t, w.scenario(s))
			return m
		}})
	})
	tests := map[string]func(*testing.T, Wire){
		"Request":   testRequest,
		"Images":    testImages,
		"Schemas":   testSchemas,
		"Foreign":   testForeign,
		"Refused":   testConnectionRefused,
		"Cancel":    testCancelFrees,
		"KeepAlive": testKeepAlive,
		"Held":      testHeldOpen,
		"Reuse":     testReuse,
		"Session":   testSession,
		"Replay":    testReplaySession,
		"Faults":    testReplayFaults,
	}
	for _, f := range Faults(w) {
		tests["Fault/"+f.Name] = func(t *testing.T, w Wire) { testFault(t, w, f) }
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why, ok := w.Skip[name]; ok {
				t.Skip(why)
			}
			run(t, w)
		})
	}
}

// Strict reads JSON that has all of v's fields that it has to have and no others,
// once. v is a pointer.
func Strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something stands behind the JSON %s", data)
	}
	return nil
}

// plainHeaders are what every client sends.
var plainHeaders = []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent"}

// Headers wants the headers that are given, with those values, and beside them only
// what every request over HTTP has. The value "*" stands for any that is not empty.
func Headers(r *http.Request, want map[string]string) error {
	for name, value := range want {
		if got := r.Header.Values(name); len(got) != 1 || got[0] == "" || value != "*" && got[0] != value {
			return fmt.Errorf("the header %s is %q, want %q", name, got, value)
		}
	}
	for name := range r.Header {
		_, wanted := want[name]
		if !wanted && !slices.Contains(plainHeaders, name) {
			return fmt.Errorf("nobody asked for the header %s", name)
		}
	}
	if got := r.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		return fmt.Errorf("the content type is %q, want application/json", got)
	}
	if r.Header.Get("User-Agent") != "cadre" {
		return fmt.Errorf("the user agent is %q", r.Header.Get("User-Agent"))
	}
	return nil
}
