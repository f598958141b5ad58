package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/netguard"
	"github.com/cadre-dev/cadre/internal/tool"
)

func at(t testing.TB) *url.URL {
	u, err := url.Parse("https://a.test/d/page")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestReadable(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("words of the text ", 10)
	for _, c := range []struct{ name, page, want string }{
		{"plain", "<p>a</p>", "a\n"},
		{"nothing", "", ""},
		{"main", "<body><div>around</div><main>" + filler + "</main></body>", strings.TrimSpace(filler) + "\n"},
		{"a main part that holds little", "<body><p>" + filler + "</p><main>x</main></body>", strings.TrimSpace(filler) + "\n\nx\n"},
		{"one article", "<body><header>h</header><article><header>Kept</header><p>" + filler + "</p></article></body>", "Kept\n\n" + strings.TrimSpace(filler) + "\n"},
		{"two articles", "<body><header>h</header><article>one</article><article>two</article><footer>f</footer></body>", "one\n\ntwo\n"},
		{"head and foot", "<body><div><header>h</header></div><p>" + filler + "</p><aside>a</aside><footer>f</footer></body>", strings.TrimSpace(filler) + "\n"},
		{"all in the head", "<body><header>" + filler + "</header></body>", strings.TrimSpace(filler) + "\n"},
		{"roles", "<body><div role=navigation>n</div><div role=main>" + filler + "</div></body>", strings.TrimSpace(filler) + "\n"},
		{"base", "<head><base href='/b/'></head><body><a href=x>l</a>", "[l](https://a.test/b/x)\n"},
		{"title", "<title> T\n t </title><p>a", "# T t\n\na\n"},
		{"title and heading", "<title>T</title><h1>T</h1><p>a", "# T\n\na\n"},
		{"anchors", "<p><a href='#x'>to x</a> <a href='data:text/html,x'>d</a></p>", "to x d\n"},
		{"unclosed", "<ul><li>a<li>b", "- a\n- b\n"},
	} {
		if got := readable(c.page, at(t)); got != c.want {
			t.Errorf("%s: readable gives\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

// TestReadableIsBounded: pages that are made to be costly are read all the same.
func TestReadableIsBounded(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"deep":       strings.Repeat("<div>", 200_000) + "found",
		"lists":      strings.Repeat("<ul><li>", 150) + "found",
		"many":       strings.Repeat("<b>x</b>", 500_000) + "found",
		"long":       strings.Repeat("[*_`x`_*] ", 400_000) + "found",
		"tables":     strings.Repeat("<table><tr><td>", 100) + "found",
		"attributes": "<p " + strings.Repeat("a=1 ", 500_000) + ">found",
		"wide table": "<table><tr>" + strings.Repeat("<td>x", 20_000) + "<td>found</table>",
		"code":       "<pre>" + strings.Repeat("```` ", 500_000) + "found</pre>",
		"wide rows":  "<table><tr>" + strings.Repeat("<td>x", 1000) + strings.Repeat("<tr><td>x", 10_000) + "found",
		"rowspan":    "<table>" + strings.Repeat("<tr><td rowspan=65534>x", 3000) + "found",
		"colspan":    "<table><tr><td colspan=99999999999 rowspan=1000>x<td>found",
		"long quote": strings.Repeat("<blockquote>", 400) + "<pre>" + strings.Repeat("x\n", 100_000) + "found",
		"long list":  strings.Repeat("<ul><li>", 200) + "<pre>" + strings.Repeat("x\n", 100_000) + "found",
		"brackets":   strings.Repeat("[", 4_000_000) + "found",
		"quotes":     strings.Repeat("<blockquote>", 300) + "found",
	} {
		if got := readable(page, at(t)); !strings.Contains(got, "found") || len(got) > 4*mostBody {
			t.Errorf("%s: %d bytes came of %d, with the text: %v", name, len(got), len(page), strings.Contains(got, "found"))
		}
	}
}

func TestBareText(t *testing.T) {
	t.Parallel()
	if got := bareText("<p>a &amp;lt; <b>b</b><script>x</script><style>y</style><!-- z --> c"); got != "a &lt;\nb\nc\n" {
		t.Errorf("bareText gives %q", got)
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("<table><tr><td rowspan=9 colspan=9>a</table><a href=':'>x</a><base href='%zz'>")
	f.Add("<main><template><p>x</template><svg><title>t</title></svg></main>")
	f.Fuzz(func(t *testing.T, page string) {
		if got := readable(page, at(t)); utf8.ValidString(page) && !utf8.ValidString(got) {
			t.Errorf("readable(%q) = %q", page, got)
		}
	})
}

// silentServer takes requests and never answers them while the test runs.
func silentServer(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	reached, over := make(chan struct{}, 9), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached <- struct{}{}
		<-over
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	return server.URL, reached
}

func loopback(t *testing.T, d time.Duration) fetcher {
	t.Helper()
	allow, err := netguard.ParseAllowed("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return fetcher{guard: &netguard.Guard{Allow: allow}, time: d}
}

func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	at, _ := silentServer(t)
	args, _ := json.Marshal(map[string]any{"url": at})
	r, err := loopback(t, 20*time.Millisecond).Run(t.Context(), tool.Env{}, tool.Call{ID: "c", Args: args})
	if err != nil || !r.IsError || !strings.Contains(r.Text, "did not answer within 20ms") {
		t.Errorf("a silent server gives %+v, %v", r, err)
	}
}

func TestContextEndsWhileItWaits(t *testing.T) {
	t.Parallel()
	at, asked := silentServer(t)
	args, _ := json.Marshal(map[string]any{"url": at})
	cause := errors.New("the test ends it")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(cause)
	}()
	if r, err := loopback(t, mostTime).Run(ctx, tool.Env{}, tool.Call{ID: "c", Args: args}); !errors.Is(err, cause) {
		t.Errorf("the end of the context gives %+v, %v, want its cause", r, err)
	}
}
