// Package compaction says when a history is too long for its model, what of it stays, and
// how the rest is asked to be summarised.
//
// It is pure: it reads histories and makes new ones, and changes no item that it is given.
// It promises that a call and its result stay together, that the task (the first message
// of the session) and what the running turn needs for its next request stay, and that a
// history which is not shorter is not taken for one. When a history is replaced, and that this
// happens wholly or not at all, is the turn's and the ledger's promise.
package compaction

import (
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// The bounds of a history that is sent.
const (
	MostItems = 8192
	MostBytes = 15 << 20
)

// Reason is why a history is replaced.
type Reason string

// The reasons.
const (
	Window   Reason = "window"   // it came near to the model's window
	Overflow Reason = "overflow" // the provider refused it as too long
	Size     Reason = "size"     // it came near to what is sent at most
)

// duePercent is how much of a bound is used up when a history is replaced.
const duePercent = 90

// bytesPerToken is what texts have about.
const bytesPerToken = 4

// Length is how long a history is.
type Length struct {
	Items    int
	Bytes    int   // of the items
	Overhead int   // bytes of what goes with each request: instructions, tools
	Tokens   int64 // an estimate of all
}

// Known is what a provider told: how many tokens the first items of a history and what went
// with them took, the newest answer among them. The zero value is nothing.
type Known struct {
	Tokens int64
	Items  int
}

// Measure tells how long a history is: what the provider counted of it, and a quarter of the
// bytes that came since.
func Measure(history []*messagev1.Item, overhead int, known Known) Length {
	l := Length{Items: len(history), Bytes: Bytes(history), Overhead: overhead}
	if known.Tokens > 0 && known.Items <= len(history) {
		l.Tokens = known.Tokens + tokens(Bytes(history[known.Items:]))
	} else {
		l.Tokens = tokens(l.Bytes + overhead)
	}
	return l
}

// Due tells why the history has to be replaced before it is sent; "" for not. The window is
// in tokens; 0 is unknown.
func (l Length) Due(window int64) Reason {
	switch {
	case window > 0 && l.Tokens*100 >= window*duePercent:
		return Window
	case l.Items*100 >= MostItems*duePercent, l.Bytes*100 >= MostBytes*duePercent:
		return Size
	}
	return ""
}

// Sendable tells whether the history is within what is sent at most.
func (l Length) Sendable() bool { return l.Items <= MostItems && l.Bytes <= MostBytes }

// Of is the length, in tokens, of another history by the measure of this one, so that what is
// shorter in bytes is shorter in tokens too.
func (l Length) Of(history []*messagev1.Item) int64 {
	was := max(l.Bytes+l.Overhead, 1)
	return int64(float64(l.Tokens) * float64(Bytes(history)+l.Overhead) / float64(was))
}

// Shrinks tells whether the new history is shorter than the old one.
func Shrinks(old, new []*messagev1.Item) bool { return Bytes(new) < Bytes(old) }

func tokens(bytes int) int64 { return int64(bytes+bytesPerToken-1) / bytesPerToken }

// What an attachment counts, in bytes.
const (
	imageBytes = 6_000
	textBytes  = 1 << 20 // at most
)

// Bytes is how long items are.
func Bytes(items []*messagev1.Item) (n int) {
	for _, item := range items {
		n += itemBytes(item)
	}
	return n
}

func itemBytes(item *messagev1.Item) int {
	n := len(item.GetUser().GetText()) + len(item.GetDeveloper().GetText()) + len(item.GetToolResult().GetText())
	for _, a := range append(append([]*messagev1.Attachment(nil), item.GetUser().GetAttachments()...), item.GetToolResult().GetAttachments()...) {
		if len(a.GetMediaType()) > 6 && a.GetMediaType()[:6] == "image/" {
			n += imageBytes
		} else {
			n += int(min(max(a.GetSize(), 0), textBytes))
		}
	}
	for _, p := range item.GetAssistant().GetParts() {
		n += len(p.GetText()) + len(p.GetReasoning().GetText()) + len(p.GetReasoning().GetPrivate()) + len(p.GetToolCall().GetName()) + len(p.GetToolCall().GetArguments())
	}
	return n
}
