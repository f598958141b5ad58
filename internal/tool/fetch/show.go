package fetch

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/cadre-dev/cadre/internal/tool"
)

// mostOfFailure is how much of a page is shown that says that there is none.
const mostOfFailure = 2 << 10

// textTypes are the media types, beside text/*, that are shown as they are.
var textTypes = []string{
	"application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
	"application/yaml", "application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl", "application/graphql",
	"application/sql", "application/x-sh", "application/x-httpd-php", "application/x-www-form-urlencoded", "image/svg+xml",
}

// show makes the result of an answer.
func (a *answer) show(r request) tool.Result {
	if a.method == http.MethodHead {
		return a.head()
	}
	kind := a.mediaType()
	if i, ok := tool.ImageOf(a.body); ok && a.code < 300 && tool.IsBinary(a.body) {
		return a.image(i)
	}
	text, ok := a.text(kind)
	if a.code >= 300 {
		return a.failure(text)
	}
	if !ok {
		return tool.Fail("%s is %s of %s, which cannot be read as text.", a.url, kind, a.size())
	}
	return a.page(kind, text, r.start)
}

// mediaType is what the answer says it is, or what it looks like when it says nothing
// that tells.
func (a *answer) mediaType() string {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || kind == "application/octet-stream" || kind == "binary/octet-stream" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(a.body))
	}
	return kind
}

// size tells how large the body is, as far as that is known.
func (a *answer) size() string {
	if !a.more {
		return tool.Count(len(a.body), "byte", "bytes")
	}
	if n := a.header.Get("Content-Length"); n != "" {
		return n + " bytes"
	}
	return fmt.Sprintf("more than %d MiB", mostBody>>20)
}

// text gives the readable form of the body; false when it has none.
func (a *answer) text(kind string) (string, bool) {
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"), slices.Contains(textTypes, kind):
	default:
		return "", false
	}
	text := decoded(a.body, a.header.Get("Content-Type"))
	if strings.IndexByte(text[:min(len(text), 8192)], 0) >= 0 {
		return "", false
	}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return readable(text, a.url), true
	}
	return text, true
}

// decoded gives the body as UTF-8, by what it says of itself. Where it says nothing
// and is valid UTF-8, it is that.
func decoded(body []byte, contentType string) string {
	e, _, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], contentType)
	if certain || !utf8.Valid(body) {
		if out, err := e.NewDecoder().Bytes(body); err == nil {
			body = out
		}
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\ufeff"))), "\ufffd")
}

// top is the first line of every result.
func (a *answer) top(what string) string { return fmt.Sprintf("%s (%s, %s)\n", a.url, a.status, what) }

// page shows a part of a text and says how to read on.
func (a *answer) page(kind, text string, start int) tool.Result {
	switch {
	case strings.TrimSpace(text) == "":
		return tool.Result{Text: a.top(kind) + "[there is no text]\n", Summary: "no text"}
	case start >= len(text):
		return tool.Fail("`start` %d is behind the end: the text of %s has %s.", start, a.url, tool.Count(len(text), "byte", "bytes"))
	}
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	part := window(text[start:], tool.MostText)
	var b strings.Builder
	b.WriteString(a.top(kind))
	b.WriteString(part)
	if !strings.HasSuffix(part, "\n") {
		b.WriteString("\n")
	}
	last := start + len(part)
	if a.more {
		fmt.Fprintf(&b, "[only the first %d MiB of the answer were read]\n", mostBody>>20)
	}
	if last < len(text) {
		fmt.Fprintf(&b, "[bytes %d to %d of %d; read on with `start` %d]\n", start, last, len(text), last)
	}
	return tool.Result{Text: b.String(), Summary: tool.Count(len(part), "byte", "bytes")}
}

// window is the beginning of a text that has at most n bytes: up to the end of a line
// where there is one in its second half, else up to the end of a character.
func window(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if i := strings.LastIndexByte(text[:n], '\n'); i >= n/2 {
		return text[:i+1]
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// failure is the result of a status that is no success.
func (a *answer) failure(text string) tool.Result {
	r := tool.Fail("%s answered %s.", a.url, a.status)
	if t := strings.TrimSpace(window(text, mostOfFailure)); t != "" {
		r.Text += " It says:\n" + t
	}
	return r
}

// image shows an image.
func (a *answer) image(i tool.Image) tool.Result {
	if a.more || len(a.body) > tool.LargestImage {
		return tool.Fail("%s is an image of %s, more than the %d MiB that can be shown.", a.url, a.size(), tool.LargestImage>>20)
	}
	name := path.Base(a.url.Path)
	if name == "." || name == "/" {
		name = "image"
	}
	return tool.Result{
		Text:    a.top(i.Describe(len(a.body))) + "[the image stands beside this text]\n",
		Summary: fmt.Sprintf("image, %d × %d", i.Width, i.Height),
		Files:   []tool.File{{Name: name, MediaType: i.MediaType, Data: a.body}},
	}
}

// shownHeaders are those that HEAD tells.
var shownHeaders = []string{"Content-Type", "Content-Length", "Last-Modified", "Etag", "Cache-Control", "Server", "Retry-After"}

// head shows status and headers alone.
func (a *answer) head() tool.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", a.url, a.status)
	for _, name := range shownHeaders {
		if v := a.header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, tool.Shorten(v, 300))
		}
	}
	return tool.Result{Text: b.String(), IsError: a.code >= 300, Summary: a.status}
}
