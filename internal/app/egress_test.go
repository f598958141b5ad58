package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Commands in a sandbox find the way out in their environment, where there is one: it leads to
// the server's proxy, which refuses what is not listed and what is not of the public internet.
// A server that was started anew without it takes it away.
func TestTheWayOutOfASandbox(t *testing.T) {
	t.Parallel()
	home := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(home.Close)
	b := newBoxes(t)
	b.egress = "localhost:" + strings.TrimPrefix(home.URL, "http://127.0.0.1:")
	a, stop := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	a.await(t, session, "turn.completed", 1)
	text, _ := a.ran(t, session, "echo $HTTP_PROXY; test $HTTP_PROXY = $https_proxy && echo $NO_PROXY")
	lines := strings.Split(text, "\n")
	at, err := url.Parse(lines[0])
	if err != nil || at.Hostname() != "127.0.0.1" || lines[1] != "localhost,127.0.0.1,::1" {
		t.Fatalf("inside there is %q", text)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}
	for address, words := range map[string]string{"http://other.example/": "does not list it", "http://" + b.egress: "loopback"} {
		res, err := (&http.Client{Transport: transport}).Get(address)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden || !strings.Contains(string(said), words) {
			t.Errorf("%s gives %s %q", address, res.Status, said)
		}
	}
	stop()
	b.egress = ""
	a, _ = b.server()
	if text, _ := a.ran(t, session, "echo still here"); text != "still here\n" {
		t.Errorf("inside there is %q", text)
	}
	if res, err := (&http.Client{Transport: transport}).Get("http://other.example/"); err == nil {
		_ = res.Body.Close()
		t.Errorf("without a list it gives %s", res.Status)
	}
	fresh := a.run(t, "writer", worksOnFiles)
	a.await(t, fresh, "turn.completed", 1)
	if text, _ := a.ran(t, fresh, "echo ${HTTP_PROXY:-none}"); text != "none\n" {
		t.Errorf("a new one has %q", text)
	}
}
