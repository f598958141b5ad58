package failure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// bodied is an error with a body that was decoded from JSON.
type bodied struct{ body any }

func (bodied) Error() string { return "bodied" }
func (b bodied) Body() any   { return b.body }

// stated is an error of a status and words.
type stated struct {
	status int
	words  string
}

func (s stated) Error() string   { return s.words }
func (s stated) HTTPStatus() int { return s.status }

// Each kind of what nobody knows better, by its status, its errno or its words. T4
func TestWhatOtherErrorsSayOfThemselves(t *testing.T) {
	t.Parallel()
	inside := fault.New(fault.Internal, "INTERNAL", "internal error")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&model.Error{Category: model.Timeout}, "provider_timeout"},
		{&model.Error{Category: model.Timeout, Idle: 1}, "response_stream_idle_timeout"},
		{&Endless{Err: errors.New("odd")}, "internal"},
		{stated{499, "odd"}, "internal"},
		{stated{500, "odd"}, "provider_unavailable"},
		{stated{503, "too many requests"}, "provider_unavailable"},
		{stated{429, "odd"}, "provider_rate_limited"},
		{stated{0, "too many requests"}, "provider_rate_limited"},
		{stated{400, "too many requests"}, "internal"},
		{stated{400, "overloaded"}, "internal"},
		{stated{400, "Connection error."}, "internal"},
		{stated{0, "Connection error."}, "upstream_connectivity_unavailable"},
		{syscall.ECONNRESET, "provider_unavailable"},
		{syscall.ETIMEDOUT, "provider_unavailable"},
		{syscall.ECONNREFUSED, "provider_unavailable"},
		{syscall.EPIPE, "provider_unavailable"},
		{syscall.ENOENT, "internal"},
		{inside.Because(syscall.ECONNRESET), "internal"},
		{inside.Because(errors.New("overloaded")), "internal"},
		{inside.Because(errors.New("rate limited")), "internal"},
		{inside.Because(stated{429, ""}), "internal"},
		{inside.Because(errors.New("Connection error.")), "internal"},
	} {
		if got := Classify(c.err).Code; got != c.want {
			t.Errorf("%T %v is %s, want %s", c.err, c.err, got, c.want)
		}
	}
}

// Where a body may hold the code of a refusal.
func TestWhereABodyIsLookedAt(t *testing.T) {
	t.Parallel()
	const code = "safety_violation"
	for _, key := range []string{"code", "message", "name", "param", "type"} {
		if got := texts(bodied{map[string]any{key: code}}); !slices.Contains(got, code) {
			t.Errorf("%s: %q", key, got)
		}
	}
	for _, key := range []string{"error", "cause", "response", "data"} {
		if got := texts(bodied{map[string]any{key: []any{map[string]any{"type": code}}}}); !slices.Contains(got, code) {
			t.Errorf("below %s: %q", key, got)
		}
	}
	if got := texts(bodied{map[string]any{"cause": errors.New(code)}}); !slices.Contains(got, code) {
		t.Errorf("an error in a body: %q", got)
	}
	for _, v := range []any{map[string]any{"else": code}, map[string]any{"else": map[string]any{"code": code}}, code, 7, nil} {
		if got := texts(bodied{v}); !slices.Equal(got, []string{"bodied"}) {
			t.Errorf("%v: %q", v, got)
		}
	}
}

// The bounds are exact: what lies before them counts, what lies behind does not.
func TestTheBoundsOfWhatIsLookedAt(t *testing.T) {
	t.Parallel()
	chain := errors.New("0")
	for n := range 99 {
		chain = fmt.Errorf("%d: %w", n+1, chain)
	}
	visited := 0
	each(chain, func(error) bool { visited++; return true })
	if visited != mostErrors || mostErrors != 64 {
		t.Errorf("%d of 100 errors were looked at", visited)
	}
	values := func(before int) []string {
		list := make([]any, before, before+1)
		return texts(bodied{append(list, map[string]any{"code": "last"})})
	}
	// The list is the first value itself.
	if got := values(254); !slices.Contains(got, "last") {
		t.Errorf("the 256th value of a body is not looked at: %q", got)
	}
	if got := values(255); slices.Contains(got, "last") {
		t.Errorf("the 257th value of a body is looked at: %q", got)
	}
	var many, same []any
	for n := range 100 {
		many = append(many, map[string]any{"code": fmt.Sprint("c", n)})
		same = append(same, map[string]any{"code": "same"})
	}
	if got := texts(bodied{many}); len(got) != 64 || got[63] != "c62" {
		t.Errorf("%d texts are kept, the last is %q", len(got), got[len(got)-1])
	}
	if got := texts(bodied{append(same, map[string]any{"code": "other"})}); !slices.Equal(got, []string{"bodied", "same", "other"}) {
		t.Errorf("%q", got)
	}
	if got := texts(errors.New(strings.Repeat("x", 5000))); len(got) != 1 || len(got[0]) != 4096 {
		t.Errorf("of a long text %d bytes are kept", len(got[0]))
	}
	if got := texts(errors.New("")); len(got) != 0 {
		t.Errorf("an empty text is kept: %q", got)
	}
}

func TestWhatIsKeptAndWhatIsTold(t *testing.T) {
	t.Parallel()
	if got := Bounded(strings.Repeat("x", 2048)); len(got) != 2048 {
		t.Errorf("%d bytes", len(got))
	}
	if got := Bounded(strings.Repeat("x", 2049)); got != strings.Repeat("x", 2048)+"…" {
		t.Errorf("%d bytes", len(got))
	}
	if got := Bounded("x" + strings.Repeat("é", 1100)); got != "x"+strings.Repeat("é", 1023)+"…" {
		t.Errorf("%d bytes", len(got))
	}
	f := Failure{Message: "m", Retryable: true, Budget: Ordinary, Wait: 2 * time.Second}
	if got := f.Proto().GetMessage(); got != "m; it asks to wait 2s" {
		t.Errorf("%q", got)
	}
	if got := (Failure{Message: "m", Wait: time.Millisecond}).Proto().GetMessage(); got != "m" {
		t.Errorf("%q", got)
	}
	over := f.Exhausted(1)
	if over.Wait != 0 || over.Retryable || over.Budget != Never || !strings.Contains(over.Advice, "by itself once without") {
		t.Errorf("%+v", over)
	}
	if over := f.Exhausted(2); !strings.Contains(over.Advice, "by itself 2 times without") {
		t.Errorf("%+v", over)
	}
}
