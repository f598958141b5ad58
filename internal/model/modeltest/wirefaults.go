package modeltest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
)

// Fault is something that goes wrong on a wire, and what a caller then sees.
type Fault struct {
	Name string
	Want Want
	play reply
	skip string
}

// Want is what a caller sees of a fault: an error, or an answer that is whole all
// the same.
type Want struct {
	Category model.Category // "" is a whole answer
	Status   int
	Code     string
	Type     string
	Wait     time.Duration
	Near     time.Duration // Wait may be shorter by this much: a date has no parts of seconds
	Started  bool
	Text     string
	Finish   string // of a whole answer
	NoUsage  bool   // of a whole answer
	Used     bool   // the error has the usage that the wire told
	Says     string // words that the message has
}

// sample is the answer that faults break.
var sample = Answer{Text: []string{"half ", "said "}, Finish: "stop", Usage: usage()}

// Faults are all of them for a wire: the table of what each provider's failures look
// like to everybody else.
func Faults(w Wire) []Fault {
	return slices.Concat(w.breaks(), w.oddities(), w.statuses(), w.events())
}

// breaks are connections and streams that do not hold.
func (w Wire) breaks() []Fault {
	frames := w.Answer(sample)
	text := kindAt(frames, Text)
	half := frames[text+1].Bytes
	cutText := pieces(frames[:text+1])
	broken := Want{Category: model.Malformed, Started: true, Text: "half "}
	return []Fault{
		{Name: "CutBeforeFirstByte", play: reply{end: endCut}, Want: Want{Category: model.Network}},
		{Name: "CutAfterHeaders", play: reply{pieces: [][]byte{{}}, end: endCut}, Want: Want{Category: model.Network}},
		{Name: "CutInText", play: reply{pieces: cutText, end: endCut}, Want: Want{Category: model.Network, Started: true, Text: "half "}},
		{Name: "CutInEvent", play: reply{pieces: add(cutText, half[:len(half)/2]), end: endCut}, Want: Want{Category: model.Network, Started: true, Text: "half "}},
		{Name: "EndInEvent", play: reply{pieces: add(cutText, half[:len(half)/2])}, Want: broken},
		{Name: "MalformedJSON", play: reply{pieces: add(cutText, mangled(half))}, Want: broken},
		{Name: "MalformedFirst", play: reply{pieces: [][]byte{mangled(half)}}, Want: Want{Category: model.Malformed}},
		{Name: "KeepAlivesThenEnd", play: reply{pieces: [][]byte{w.alive(), w.alive(), w.alive()}}, Want: Want{Category: model.Malformed}},
		{Name: "KeepAlivesThenCut", play: reply{pieces: [][]byte{w.alive(), w.alive(), w.alive()}, end: endCut}, Want: Want{Category: model.Network}},
		{Name: "NoEvent", play: reply{pieces: [][]byte{{}}}, Want: Want{Category: model.Malformed}},
		{Name: "HTML", play: reply{pieces: [][]byte{[]byte("<html><body>Sign in to the network</body></html>")}, headers: map[string]string{"Content-Type": "text/html"}}, Want: Want{Category: model.Malformed}},
		{Name: "MissingTerminal", play: reply{pieces: before(frames, End)}, Want: Want{Category: model.Malformed, Started: true, Text: "half said "}},
		{Name: "ContentAfterTerminal", play: reply{pieces: pieces(insert(frames, kindAt(frames, End)+count(frames, End), frames[text]))},
			Want: Want{Category: model.Malformed, Started: true, Text: "half said "}},
	}
}

// oddities do no harm.
func (w Wire) oddities() []Fault {
	frames := w.Answer(sample)
	end := kindAt(frames, End)
	twice := insert(frames, end, frames[end:end+count(frames, End)]...)
	unknown := insert(frames, kindAt(frames, Text)+1, Frame{Other, w.Unknown})
	strange := sample
	strange.Finish = "zzz_new"
	unmeasured := sample
	unmeasured.Usage = nil
	long := Answer{Finish: "stop", Usage: usage()}
	for i := range 256 {
		long.Text = append(long.Text, strings.Repeat(string(rune('a'+i%26)), 4096))
	}
	wide := Answer{Text: []string{"Grüße 🎉, ", "日本語の ", "e\u0301 und <&>"}, Finish: "stop", Usage: usage()}
	whole := Want{Text: "half said ", Finish: "stop"}
	broken := pieces(frames)
	for i, one := range broken {
		broken[i] = bytes.ReplaceAll(one, []byte("half"), []byte("ha\xfff"))
	}
	return []Fault{
		{Name: "DoubledTerminal", play: reply{pieces: pieces(twice)}, Want: whole},
		{Name: "UnknownEvent", play: reply{pieces: pieces(unknown)}, Want: whole, skip: none(len(w.Unknown) == 0, "the wire has no types of events")},
		{Name: "UnknownFinish", play: reply{pieces: pieces(w.Answer(strange))}, Want: Want{Text: "half said ", Finish: "zzz_new"}},
		{Name: "NoUsage", play: reply{pieces: pieces(w.Answer(unmeasured))}, Want: Want{Text: "half said ", Finish: "stop", NoUsage: true}},
		{Name: "SlowBytes", play: reply{pieces: single(pieces(w.Answer(wide)))}, Want: Want{Text: strings.Join(wide.Text, ""), Finish: "stop"}},
		{Name: "AllAtOnce", play: reply{pieces: [][]byte{bytes.Join(pieces(w.Answer(wide)), nil)}}, Want: Want{Text: strings.Join(wide.Text, ""), Finish: "stop"}},
		{Name: "Megabyte", play: reply{pieces: pieces(w.Answer(long))}, Want: Want{Text: strings.Join(long.Text, ""), Finish: "stop"}},
		{Name: "CutAfterTerminal", play: reply{pieces: pieces(frames), end: endCut}, Want: whole},
		{Name: "KeepAlives", play: reply{pieces: w.between(frames)}, Want: whole},
		{Name: "InvalidBytes", play: reply{pieces: broken}, Want: Want{Text: "ha\uFFFDf said ", Finish: "stop"}},
		{Name: "Comments", play: reply{pieces: pieces(insert(frames, end, Frame{Other, []byte(": keep-alive\n\n")}))}, Want: whole},
	}
}

// alive is what keeps a connection alive and says nothing.
func (w Wire) alive() []byte {
	return append([]byte(": keep-alive\n\n"), w.Alive...)
}

// between has something to keep the connection alive before each frame.
func (w Wire) between(frames []Frame) [][]byte {
	var all [][]byte
	for _, f := range frames {
		all = append(all, w.alive(), f.Bytes)
	}
	return all
}

// statuses are responses that are errors. Their codes are the provider's own.
func (w Wire) statuses() []Fault {
	date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	rows := []struct {
		name    string
		status  int
		why     Why
		headers map[string]string
		want    Want
	}{
		{"400", 400, Plain, nil, Want{Category: model.BadRequest}},
		{"400Seconds", 400, Plain, map[string]string{"Retry-After": "5"}, Want{Category: model.BadRequest, Wait: 5 * time.Second}},
		{"401", 401, Plain, nil, Want{Category: model.Authentication}},
		{"402", 402, Plain, nil, Want{Category: model.Quota}},
		{"403", 403, Plain, nil, Want{Category: model.Authentication}},
		{"404", 404, Plain, nil, Want{Category: model.BadRequest}},
		{"408", 408, Plain, nil, Want{Category: model.ServerError}},
		{"409", 409, Plain, nil, Want{Category: model.ServerError}},
		{"413", 413, Plain, nil, Want{Category: model.ContextTooLong}},
		{"422", 422, Plain, nil, Want{Category: model.BadRequest}},
		{"429", 429, Plain, nil, Want{Category: model.RateLimited}},
		{"429Seconds", 429, Plain, map[string]string{"Retry-After": "7"}, Want{Category: model.RateLimited, Wait: 7 * time.Second}},
		{"429Date", 429, Plain, map[string]string{"Retry-After": date}, Want{Category: model.RateLimited, Wait: 90 * time.Second, Near: time.Minute}},
		{"429Milliseconds", 429, Plain, map[string]string{"Retry-After": "2", "Retry-After-Ms": "1250"}, Want{Category: model.RateLimited, Wait: 1250 * time.Millisecond}},
		{"429Odd", 429, Plain, map[string]string{"Retry-After": "soon", "Retry-After-Ms": "-3"}, Want{Category: model.RateLimited}},
		{"429Past", 429, Plain, map[string]string{"Retry-After": "Fri, 01 May 2020 11:00:00 GMT"}, Want{Category: model.RateLimited}},
		{"429Days", 429, Plain, map[string]string{"Retry-After": "1382400"}, Want{Category: model.Quota, Wait: 16 * 24 * time.Hour}},
		{"Quota", 429, Exhausted, nil, Want{Category: model.Quota}},
		{"QuotaSoon", 429, Exhausted, map[string]string{"Retry-After": "3600"}, Want{Category: model.Quota, Wait: time.Hour}},
		{"500", 500, Plain, nil, Want{Category: model.ServerError}},
		{"500Milliseconds", 500, Plain, map[string]string{"Retry-After-Ms": "250"}, Want{Category: model.ServerError, Wait: 250 * time.Millisecond}},
		{"502", 502, Plain, nil, Want{Category: model.ServerError}},
		{"503", 503, Plain, map[string]string{"Retry-After": "3"}, Want{Category: model.Overloaded, Wait: 3 * time.Second}},
		{"503Date", 503, Plain, map[string]string{"Retry-After": date}, Want{Category: model.Overloaded, Wait: 90 * time.Second, Near: time.Minute}},
		{"504", 504, Plain, nil, Want{Category: model.ServerError}},
		{"529", 529, Plain, nil, Want{Category: model.Overloaded}},
		{"529Milliseconds", 529, Plain, map[string]string{"Retry-After-Ms": "1500"}, Want{Category: model.Overloaded, Wait: 1500 * time.Millisecond}},
		{"Refused", 400, Unsafe, nil, Want{Category: model.Refused}},
		{"RefusedAs500", 500, Unsafe, nil, Want{Category: model.Refused}},
		{"TooLong", 400, TooLong, nil, Want{Category: model.ContextTooLong}},
		{"TooLongAs500", 500, TooLong, nil, Want{Category: model.ContextTooLong}},
	}
	var all []Fault
	for _, r := range rows {
		said := w.Refuse(r.status, r.why)
		r.want.Status, r.want.Code, r.want.Type = r.status, said.Code, said.Type
		all = append(all, Fault{Name: r.name, play: w.refuse(r.status, r.why, r.headers), Want: r.want})
	}
	page := "<!DOCTYPE html><html><head><style>p{}</style><title>502 Bad Gateway</title></head><body>" + strings.Repeat("<p>nginx</p>", 20000) + "</body></html>"
	for name, body := range map[string]string{"502HTML": page, "502Empty": "", "502Text": "upstream connect error", "502Bytes": "\xff\xfe\x00broken"} {
		all = append(all, Fault{
			Name: name, Want: Want{Category: model.ServerError, Status: 502},
			play: reply{status: 502, headers: map[string]string{"Content-Type": "text/html"}, pieces: [][]byte{[]byte(body)}},
		})
	}
	return append(all, Fault{
		Name: "302", Want: Want{Category: model.BadRequest, Status: 302},
		play: reply{status: 302, headers: map[string]string{"Location": "/elsewhere"}, pieces: [][]byte{{}}},
	})
}

// events are errors inside a stream, before and after text; and a refusal that
// comes as a finish reason.
func (w Wire) events() []Fault {
	frames := w.Answer(sample)
	prelude := before(frames, Text)
	text := pieces(frames[:kindAt(frames, Text)+1])
	var all []Fault
	for why, category := range map[Why]model.Category{
		Exhausted: model.Quota, Unsafe: model.Refused, TooLong: model.ContextTooLong, Busy: model.Overloaded,
		TooFast: model.RateLimited, ServerFail: model.ServerError, BadInput: model.BadRequest,
	} {
		f, said := w.Event(why)
		skip := none(f.Bytes == nil, "the wire has no such event")
		want := Want{Category: category, Code: said.Code, Type: said.Type}
		all = append(all, Fault{Name: "Event/" + string(why), play: reply{pieces: add(prelude, f.Bytes)}, Want: want, skip: skip})
		want.Started, want.Text = true, "half "
		all = append(all, Fault{Name: "EventAfterText/" + string(why), play: reply{pieces: add(text, f.Bytes)}, Want: want, skip: skip})
	}
	all = append(all, w.careless(prelude, text)...)
	refused := Answer{Text: []string{"half "}, Finish: "content_filter", Usage: usage()}
	return append(all, Fault{
		Name: "RefusedFinish", play: reply{pieces: pieces(w.Answer(refused))},
		Want: Want{Category: model.Refused, Code: "*", Started: true, Text: "half ", Used: true},
	})
}

// message finds the words of an error in what a wire sends.
var message = regexp.MustCompile(`"message":\s*"[^"]*"`)

// careless are hosts that repeat the key in an error: in the stream, also after text,
// and in the body of a refusal with its characters written as escapes.
func (w Wire) careless(prelude, text [][]byte) []Fault {
	const said = "repeats the key"
	var escaped strings.Builder
	for _, r := range Key {
		fmt.Fprintf(&escaped, `\u%04x`, r)
	}
	f, why := w.Event(ServerFail)
	event := message.ReplaceAll(f.Bytes, []byte(`"message":"it `+said+` `+Key+`"`))
	skip := none(!bytes.Contains(event, []byte(said)), "the wire has no such event with words")
	want := Want{Category: model.ServerError, Code: why.Code, Type: why.Type, Says: said}
	all := []Fault{{Name: "EventWithKey", play: reply{pieces: add(prelude, event)}, Want: want, skip: skip}}
	want.Started, want.Text = true, "half "
	all = append(all, Fault{Name: "EventWithKeyAfterText", play: reply{pieces: add(text, event)}, Want: want, skip: skip})
	refusal := w.refuse(400, Plain, nil)
	body := message.ReplaceAllLiteral(bytes.Join(refusal.pieces, nil), []byte(`"message":"it `+said+` `+escaped.String()+`"`))
	refusal.pieces = [][]byte{body}
	return append(all, Fault{
		Name: "400WithEscapedKey", play: refusal, Want: Want{Category: model.BadRequest, Status: 400, Code: "*", Says: said},
		skip: none(!bytes.Contains(body, []byte(said)), "the wire's refusals have no words"),
	})
}

// testFault plays a fault and compares.
func testFault(t *testing.T, w Wire, f Fault) {
	if f.skip != "" {
		t.Skip(f.skip)
	}
	m, _ := w.serve(t, func(int) reply { return f.play })
	sent := 0
	req := request()
	req.Sent = func() { sent++ }
	s := ask(t.Context(), t, m, req)
	f.Want.check(t, s)
	if sent != 1 {
		t.Errorf("Sent was called %d times, want 1", sent)
	}
}

// check compares what came with what is wanted.
func (w Want) check(t *testing.T, s said) {
	t.Helper()
	if s.text != w.Text {
		t.Errorf("the text is %q, want %q", head(s.text), head(w.Text))
	}
	if w.Category == "" {
		s.whole(t)
		if s.done.FinishReason != w.Finish || (s.done.Usage == nil) != w.NoUsage {
			t.Errorf("the end is %+v, want the finish reason %s; without usage: %v", s.done, w.Finish, w.NoUsage)
		}
		return
	}
	e := s.fails(t, w.Category)
	got := fmt.Sprintf("status %d, code %q, type %q, started %v", e.Status, e.Code, e.Type, e.Started)
	if w.Code == "*" {
		w.Code, w.Type = e.Code, e.Type
	}
	if want := fmt.Sprintf("status %d, code %q, type %q, started %v", w.Status, w.Code, w.Type, w.Started); got != want {
		t.Errorf("the error has %s, want %s", got, want)
	}
	if d := e.RetryAfter; d > w.Wait || d < w.Wait-w.Near {
		t.Errorf("it asks to wait %s, want %s", d, w.Wait)
	}
	if all := e.Message + e.Code + e.Type; strings.Contains(all, Key) || !strings.Contains(e.Message, w.Says) {
		t.Errorf("the error says %q; want %q in it and the key nowhere", head(all), w.Says)
	}
	if w.Used && (e.Usage.GetInputTokens() != usage().GetInputTokens() || e.Usage.GetOutputTokens() != usage().GetOutputTokens()) {
		t.Errorf("the error has the usage %v, and not what the wire told", e.Usage)
	}
	if e.Message == "" || len(e.Message) > model.MessageLimit || strings.Contains(e.Message, "<") {
		t.Errorf("the message has %d bytes: %q", len(e.Message), head(e.Message))
	}
	if s.done != nil || errors.Is(s.err, http.ErrAbortHandler) {
		t.Errorf("an answer that failed ends with %+v", s.done)
	}
}

func head(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%s… (%d bytes)", s[:80], len(s))
	}
	return s
}

func none(skip bool, why string) string {
	if skip {
		return why
	}
	return ""
}

// kindAt is the place of the first frame of a kind.
func kindAt(frames []Frame, kind FrameKind) int {
	at := slices.IndexFunc(frames, func(f Frame) bool { return f.Kind == kind })
	if at < 0 {
		panic(fmt.Sprintf("the wire's answer has no frame of kind %d", kind))
	}
	return at
}

// count tells how many frames there are of a kind.
func count(frames []Frame, kind FrameKind) int {
	n := 0
	for _, f := range frames {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

func insert(frames []Frame, at int, more ...Frame) []Frame {
	return slices.Insert(slices.Clone(frames), at, more...)
}

func add(pieces [][]byte, more ...[]byte) [][]byte {
	return slices.Concat(pieces, more)
}

// single cuts pieces into bytes.
func single(pieces [][]byte) [][]byte {
	var all [][]byte
	for _, b := range bytes.Join(pieces, nil) {
		all = append(all, []byte{b})
	}
	return all
}

// mangled is an event whose JSON stops in its middle.
func mangled(event []byte) []byte {
	at := bytes.Index(event, []byte("data:"))
	return append(slices.Clone(event[:at+(len(event)-at)/2]), "\n\n"...)
}
