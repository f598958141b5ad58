package cassette

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
)

// nasty are texts that a format may lose something of.
var nasty = []string{
	"plain", "two\nlines", "trailing \n space \n", "\n\nbegins empty\n", "  indented\n text", "\tTab\n", "ends in many\n\n\n", "\r\n\r\n", "a\rb\n",
	"---\nkey: v\n...\n", "...\n", "# no comment\n", "'\"", "\x00\x01\x7f", "\u2028\u2029\u0085 breaks\nmore", "\ufeffmark\n", "emoji 🎉\nü",
	"true", "null", "~", "12", "1e5", "0x10", "2026-01-02", "yes", "=", "<<", "*alias", "&a", "!tag", "@x", "{a: b}", ": ", "- ", " ", "\n", "\x85\xff", strings.Repeat("long ", 5000),
}

func TestEveryByteComesBack(t *testing.T) {
	t.Parallel()
	for _, s := range nasty {
		body, err := encode(map[string]any{"text": s, s: []any{s, map[string]any{}, []any{}, "x\n" + s}})
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range [][]byte{body, []byte(s), nil} {
			x := Exchange{
				Number: 2, Workspace: "/w " + strings.ToValidUTF8(s, "?"), Request: Request{Method: "POST", Path: "/a?b=c", Body: asked},
				Response: Response{Status: 200, Header: http.Header{"Content-Type": {"text/x"}}, Body: []byte(s), Error: strings.ToValidUTF8(s, "?")},
			}
			data, err := write(x)
			if err != nil {
				t.Errorf("%.40q: %v", s, err)
				continue
			}
			head, err := header("a/b")
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse("c.yaml", append(head, data...))
			if err != nil || len(c.Exchanges) != 1 || !same(x, c.Exchanges[0]) {
				t.Errorf("%.40q: %v\n%.400s\n%+v", s, err, data, c)
			}
		}
	}
}

func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"0", "-0", "1.0", "1.50", "1e5", "1E400", "-1.5e-7", "123456789012345678901234567890", "0.1"} {
		body := []byte(`{"n":` + n + `}`)
		data, err := write(Exchange{Request: Request{Method: "POST", Path: "/", Body: body}})
		if err != nil {
			t.Fatal(err)
		}
		x, err := parseExchange("", data)
		if err != nil || string(x.Request.Body) != string(body) {
			t.Errorf("%s became %s, %v\n%s", n, x.Request.Body, err, data)
		}
	}
}

// A person reads a recording in a review.
func TestTheFormIsReadable(t *testing.T) {
	t.Parallel()
	data, err := write(Exchange{
		Number: 1, Workspace: "/w",
		Request: Request{Method: "POST", Path: "/v1/messages", Type: "application/json", Body: []byte(`{"max":10,"messages":[{"content":"Look\naround"}]}`)},
		Response: Response{
			Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte("event: a\ndata: {\"x\":1}\n\nevent: b\ndata: {}\n\n"),
		},
	})
	want := `---
number: 1
workspace: /w
request:
  method: POST
  path: /v1/messages
  type: application/json
  json:
    max: 10
    messages:
      - content: |-
          Look
          around
response:
  status: 200
  headers:
    Content-Type: text/event-stream
  text: |+
    event: a
    data: {"x":1}

    event: b
    data: {}

...
`
	if err != nil || string(data) != want {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestWhatIsWrongHasItsPlace(t *testing.T) {
	t.Parallel()
	head := "---\ncassette: 1\nmodel: a/b\n...\n"
	for text, want := range map[string]string{
		"":                                    "c.yaml: the file is empty",
		"---\ncassette: 2\nmodel: a/b\n...\n": "c.yaml:2:1: the cassette has the version 2, and this Cadre reads 1: record it again",
		"---\ncassette: 1\n...\n":             `needs the field "model"`,
		head + "---\nreqest: {}\n...\n":       `c.yaml:6:1: an exchange has no field "reqest". Did you mean "request"? It takes number, request, response and workspace`,
		head + "---\nrequest: {method: a, path: /, json: {x: 0x10}}\nresponse: {}\n...\n":        `c.yaml:6:41: JSON has no value that is written like this: "0x10"`,
		head + "---\nrequest: {method: a, path: /, json: &x [a], text: *x}\nresponse: {}\n...\n": `here must be text`,
		head + "---\nrequest: {method: a, path: /}\n":                                            "c.yaml:5:1: the last exchange is not whole",
		head + "---\nrequest: {method: a, path: /}\nresponse: {status: no}\n...\n":               "c.yaml:7:20: here must be a whole number",
		head + "---\nrequest: [\n...\n":                                                          "c.yaml: the file is not valid YAML",
	} {
		_, err := Parse("c.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// What the page shows is a cassette, and the page tells of all fields.
func TestThePageShowsACassette(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "cassettes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	c, err := Parse("cassettes.md", []byte(block))
	if err != nil || len(c.Exchanges) != 1 {
		t.Fatal(c, err)
	}
	for _, field := range []string{
		"cassette", "model", "number", "workspace", "request", "response", "method", "path", "type", "json", "text", "base64", "status", "headers", "error",
	} {
		if !strings.Contains(string(page), "`"+field+"`") {
			t.Errorf("the page does not tell of %s", field)
		}
	}
	for _, word := range append(slices.Clone(telling), keptHeaders...) {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("the page does not tell of %s", word)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\ncassette: 1\nmodel: a/b\n...\n---\nrequest: {method: POST, path: /, json: {a: [1, x]}}\nresponse: {status: 200, text: x}\n...\n")
	for _, s := range nasty {
		f.Add("---\ncassette: 1\nmodel: a/b\n...\n---\n" + s + "\n...\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("c.yaml", []byte(text))
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		for _, x := range c.Exchanges {
			data, err := write(x)
			if err != nil {
				t.Fatalf("what was read cannot be written: %v\n%q", err, text)
			}
			if back, err := parseExchange("", data); err != nil || !same(x, back) {
				t.Fatalf("%v\n%s", err, data)
			}
		}
	})
}
