package fetch_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/fetch"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const article = `<!doctype html><html><head><title>A title &amp; more</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><header>Site</header>
<main><h1>Heading<a href="#h">¶</a></h1><p>Some <b>bold</b> text and <a href="../other?a=1#x">a link</a>.</p>
<ul><li>one</li><li>two</li></ul><pre><code class="language-go">x := 1
</code></pre><table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>
<img src="p.png" alt="picture"><img src="track.gif"><a href="javascript:alert(1)">press</a><p hidden>ignore this</p></main>
<script>alert("no")</script><footer>Imprint</footer></body></html>`

// site is what the tests fetch.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	pages := map[string]struct{ kind, body string }{
		"/d/article":  {"text/html; charset=utf-8", article},
		"/latin":      {"text/html; charset=iso-8859-1", "<p>caf\xe9</p>"},
		"/meta":       {"text/html", "<html><head><meta charset=windows-1251></head><body><p>\xcf\xf0\xe8\xe2\xe5\xf2</p></body></html>"},
		"/utf16":      {"text/plain; charset=utf-16le", "h\x00i\x00"},
		"/late":       {"text/plain", strings.Repeat("x", 2000) + "ä"},
		"/data":       {"application/vnd.api+json", `{"a": "ä"}`},
		"/text":       {"text/plain", "one\ntwo\n"},
		"/untold":     {"", "just text\n"},
		"/octets":     {"application/octet-stream", "also text\n"},
		"/lying":      {"text/plain", "a\x00b"},
		"/pdf":        {"application/pdf", "%PDF-1.7 \x00"},
		"/long":       {"text/plain", strings.Repeat(strings.Repeat("ä", 60)+"\n", 2000)},
		"/wide":       {"text/plain", strings.Repeat("ä", 100_000)},
		"/huge":       {"text/plain", strings.Repeat("0123456789abcde\n", 400_000)},
		"/hugebinary": {"application/zip", strings.Repeat("\x00", 6<<20)},
		"/i/p.png":    {"text/plain", picture.String()}, // what it says is wrong
		"/bigimage":   {"image/png", picture.String() + strings.Repeat("\x00", 5<<20)},
		"/empty":      {"text/html", "<html><body><script>x()</script></body></html>"},
	}
	mux := http.NewServeMux()
	for path, p := range pages {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			if p.kind != "" {
				w.Header().Set("Content-Type", p.kind)
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(p.body)))
			fmt.Fprint(w, p.body)
		})
	}
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "no such page: "+strings.Repeat("x", 100_000))
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		for _, name := range []string{"User-Agent", "Cookie", "Referer", "Authorization"} {
			fmt.Fprintf(w, "%s=%q\n", name, r.Header.Get(name))
		}
		fmt.Fprintf(w, "%s %s", r.Method, r.URL)
	})
	mux.HandleFunc("/hop/", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		n, _ := strconv.Atoi(r.URL.Path[len("/hop/"):])
		to := "/echo"
		if n > 1 {
			to = fmt.Sprintf("/hop/%d", n-1)
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		for range 100 {
			if _, err := z.Write(bytes.Repeat([]byte("a\n"), 1<<20)); err != nil {
				return // the tool has seen enough
			}
		}
		z.Close()
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// open is the tool with exceptions.
func open(t *testing.T, allow string) tool.Tool {
	t.Helper()
	f, err := fetch.Registration.New(func(name string) string {
		if name == fetch.AllowVariable {
			return allow
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server := site(t)
	tooltest.Run(t, tooltest.Case{
		New: func() tool.Tool { return open(t, "127.0.0.1") }, Open: local.Open,
		Args: map[string]any{"url": server.URL + "/d/article"},
	})
}

func run(t *testing.T, f tool.Tool, args map[string]any) tool.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Run(t.Context(), tool.Env{}, tool.Call{ID: "c", Args: raw})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReads(t *testing.T) {
	t.Parallel()
	server := site(t)
	f := open(t, "127.0.0.1")
	for path, want := range map[string]string{
		"/d/article": " (200 OK, text/html)\n# A title & more\n\n# Heading\n\nSome **bold** text and [a link](" + server.URL + "/other?a=1#x).\n\n- one\n- two\n\n```go\nx := 1\n```\n\n" +
			"| k | v |\n|---|---|\n| a | 1 |\n\n![picture](" + server.URL + "/d/p.png)press\n",
		"/latin":  " (200 OK, text/html)\ncafé\n",
		"/meta":   " (200 OK, text/html)\nПривет\n",
		"/utf16":  " (200 OK, text/plain)\nhi\n",
		"/late":   " (200 OK, text/plain)\n" + strings.Repeat("x", 2000) + "ä\n",
		"/data":   " (200 OK, application/vnd.api+json)\n{\"a\": \"ä\"}\n",
		"/text#x": " (200 OK, text/plain)\none\ntwo\n",
		"/untold": " (200 OK, text/plain)\njust text\n",
		"/octets": " (200 OK, text/plain)\nalso text\n",
		"/empty":  " (200 OK, text/html)\n[there is no text]\n",
	} {
		r := run(t, f, map[string]any{"url": server.URL + path})
		path, _, _ = strings.Cut(path, "#")
		if want := server.URL + path + want; r.IsError || r.Text != want {
			t.Errorf("%s gives\n%s\nwant\n%s", path, r.Text, want)
		}
	}
	if r := run(t, f, map[string]any{"url": server.URL + "/text"}); r.Summary != "8 bytes" {
		t.Errorf("the summary is %q", r.Summary)
	}
	r := run(t, f, map[string]any{"url": server.URL + "/text", "method": "head"})
	if r.IsError || !strings.Contains(r.Text, "/text (200 OK)\nContent-Type: text/plain\nContent-Length: 8\n") || strings.Contains(r.Text, "one") {
		t.Errorf("HEAD gives %+v", r)
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	server := site(t)
	r := run(t, open(t, "127.0.0.1"), map[string]any{"url": server.URL + "/i/p.png"})
	if r.IsError || len(r.Files) != 1 || r.Files[0].Name != "p.png" || r.Files[0].MediaType != "image/png" || !strings.Contains(r.Text, "image/png, 3 × 2 pixels") {
		t.Fatalf("an image gives %+v", r)
	}
	if _, err := png.Decode(bytes.NewReader(r.Files[0].Data)); err != nil {
		t.Errorf("the image is not whole: %v", err)
	}
}

func TestRefusesAnswers(t *testing.T) {
	t.Parallel()
	server := site(t)
	f := open(t, "127.0.0.1")
	for path, want := range map[string]string{
		"/pdf":        "application/pdf of 10 bytes, which cannot be read as text",
		"/lying":      "text/plain of 3 bytes, which cannot be read",
		"/hugebinary": "application/zip of 6291456 bytes",
		"/bigimage":   "is an image of 5242",
		"/gone":       "/gone answered 404 Not Found. It says:\nno such page: x",
		"/broken":     "broke off after 4 bytes",
		"/hop/6":      "more than 5 redirects",
	} {
		if r := run(t, f, map[string]any{"url": server.URL + path}); !r.IsError || len(r.Files) > 0 || !strings.Contains(r.Text, want) || len(r.Text) > 3000 {
			t.Errorf("%s gives %.300s, want %q", path, r.Text, want)
		}
	}
	if r := run(t, f, map[string]any{"url": server.URL + "/gone", "method": "HEAD"}); !r.IsError || !strings.Contains(r.Text, "404") {
		t.Errorf("HEAD of what is not there gives %+v", r)
	}
}

// TestReadsOn: the parts of a long text make the text.
func TestReadsOn(t *testing.T) {
	t.Parallel()
	server := site(t)
	f := open(t, "127.0.0.1")
	for path, want := range map[string]string{"/long": strings.Repeat(strings.Repeat("ä", 60)+"\n", 2000), "/wide": strings.Repeat("ä", 100_000)} {
		got, start := "", 0
		for len(got) < len(want) {
			r := run(t, f, map[string]any{"url": server.URL + path, "start": start})
			if r.IsError || len(r.Text) > tool.MostText+500 {
				t.Fatalf("%s from %d gives %d bytes: %.200s", path, start, len(r.Text), r.Text)
			}
			part := r.Text[strings.Index(r.Text, "\n")+1:]
			part, hint, more := strings.Cut(part, "[bytes ")
			if !more {
				got += part
				break
			}
			if path == "/wide" {
				part = strings.TrimSuffix(part, "\n")
			}
			got += part
			if _, err := fmt.Sscanf(hint[strings.Index(hint, "`start`"):], "`start` %d]", &start); err != nil || start != len(got) {
				t.Fatalf("%s: the hint is %q after %d bytes, %v", path, hint, len(got), err)
			}
		}
		if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
			t.Errorf("%s: the parts do not make the text", path)
		}
	}
	if r := run(t, f, map[string]any{"url": server.URL + "/text", "start": 8}); !r.IsError || !strings.Contains(r.Text, "behind the end") {
		t.Errorf("a start behind the end gives %+v", r)
	}
	if r := run(t, f, map[string]any{"url": server.URL + "/wide", "start": 3}); r.IsError || strings.Contains(r.Text, "\ufffd") {
		t.Errorf("a start within a character gives %.100s", r.Text)
	}
	for _, path := range []string{"/huge", "/bomb"} {
		r := run(t, f, map[string]any{"url": server.URL + path, "start": 5<<20 - 100})
		if r.IsError || !strings.Contains(r.Text, "[only the first 5 MiB of the answer were read]") {
			t.Errorf("the end of %s gives %.300s", path, r.Text)
		}
	}
}

// TestSendsNothing: no cookie, no referrer, a name of ours, and the URL as it was given.
func TestSendsNothing(t *testing.T) {
	t.Parallel()
	server := site(t)
	f := open(t, "127.0.0.1")
	const bare = "User-Agent=\"cadre\"\nCookie=\"\"\nReferer=\"\"\nAuthorization=\"\"\nGET /echo"
	for _, path := range []string{"/echo", "/hop/5"} {
		if r := run(t, f, map[string]any{"url": server.URL + path}); !strings.Contains(r.Text, server.URL+"/echo (") || !strings.Contains(r.Text, bare) {
			t.Errorf("%s gives %s", path, r.Text)
		}
	}
}

func TestRefusesAddresses(t *testing.T) {
	t.Parallel()
	server := site(t)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	f := open(t, "")
	for host, why := range map[string]string{
		"127.0.0.1": "a loopback address", "localhost": "a loopback address", "[::1]": "a loopback address", "0.0.0.0": "this machine", "[::]": "this machine",
		"[::ffff:127.0.0.1]": "a loopback address", "[64:ff9b::7f00:1]": "a loopback address",
		"10.0.0.1": "a private address", "192.168.0.1": "a private address", "172.20.0.1": "a private address", "[fd00::1]": "a private address",
		"169.254.169.254": "the metadata address", "[fd00:ec2::254]": "the metadata address", "[::ffff:a9fe:a9fe]": "the metadata address",
		"169.254.0.1": "a link-local address", "100.64.0.1": "a carrier's translation", "224.0.0.1": "a multicast address",
	} {
		r := run(t, f, map[string]any{"url": "http://" + host + ":" + port + "/text"})
		if !r.IsError || !strings.Contains(r.Text, why) || !strings.Contains(r.Text, fetch.AllowVariable) {
			// A system without a family of addresses cannot dial it at all.
			if !strings.Contains(r.Text, "could not be fetched") || strings.Contains(r.Text, "one") {
				t.Errorf("%s gives %+v, want it refused as %s", host, r, why)
			}
		}
	}
}

func TestRefusesRedirects(t *testing.T) {
	t.Parallel()
	server, other := site(t), site(t)
	f := open(t, server.Listener.Addr().String())
	for to, want := range map[string]string{
		other.URL + "/text":        "is a loopback address",
		"http://169.254.169.254/":  "the metadata address",
		"http://10.0.0.1/":         "a private address",
		"file:///etc/passwd":       "only http and https",
		"gopher://x.test/":         "only http and https",
		"http://u:p@127.0.0.1/x":   "user name or a password",
		"http://[fe80::1]:80/text": "", // refused, or there is no way to such an address
	} {
		r := run(t, f, map[string]any{"url": server.URL + "/to?u=" + to})
		if !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("a redirect to %s gives %+v, want %q", to, r, want)
		}
	}
	if r := run(t, f, map[string]any{"url": server.URL + "/to?u=/text"}); r.IsError || !strings.Contains(r.Text, server.URL+"/text (200 OK") {
		t.Errorf("a redirect to what is allowed gives %+v", r)
	}
}

func TestRefusesArguments(t *testing.T) {
	t.Parallel()
	f := open(t, "")
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"url": "a.test/x"}, "`url` must be whole"},
		{map[string]any{"url": "a.test:80/x"}, "`url` must be whole"},
		{map[string]any{"url": "/x"}, "`url` must be whole"},
		{map[string]any{"url": "file:///etc/passwd"}, "only http and https"},
		{map[string]any{"url": "http://u:p@a.test"}, "a user name or a password"},
		{map[string]any{"url": "http://"}, "no host"},
		{map[string]any{"url": "http://a b/"}, "no valid URL"},
		{map[string]any{"url": "http://a.test/" + strings.Repeat("x", 9000)}, "more than 8192"},
		{map[string]any{"url": "http://a.test", "method": "POST"}, "`method` must be GET or HEAD"},
		{map[string]any{"url": "http://a.test", "start": -1}, "`start` must be 0 or more"},
	} {
		if r := run(t, f, c.args); !r.IsError || !strings.Contains(r.Text, c.want) {
			t.Errorf("%.100v gives %.300s, want %q", c.args, r.Text, c.want)
		}
	}
}

func TestBadAllowList(t *testing.T) {
	t.Parallel()
	_, err := fetch.Registration.New(func(string) string { return "10.0.0.0/99" })
	if err == nil || !strings.Contains(err.Error(), fetch.AllowVariable) || !strings.Contains(err.Error(), "10.0.0.0/99") {
		t.Errorf("a bad list gives %v", err)
	}
}
