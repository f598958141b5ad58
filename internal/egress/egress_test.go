package egress_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/egress"
	"github.com/cadre-dev/cadre/internal/netguard"
)

func TestList(t *testing.T) {
	t.Parallel()
	l, err := egress.Parse(" modules.example, *.PACKAGES.example,git.example:22 ,,*.deep.example:8443")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"modules.example:443": true, "modules.example:80": true, "MODULES.Example.:443": true, "modules.example:22": false, "x.modules.example:443": false,
		"a1.packages.example:443": true, "a.b.packages.example:443": true, "packages.example:443": false, "evilpackages.example:443": false, "packages.example.evil.example:443": false,
		"git.example:22": true, "git.example:443": false, "x.deep.example:8443": true, "x.deep.example:443": false, "127.0.0.1:443": false,
	} {
		host, port, _ := net.SplitHostPort(address)
		if l.Allows(host, port) != want {
			t.Errorf("%s is allowed: %t", address, !want)
		}
	}
	for _, entry := range []string{"*", "*.", "10.0.0.1", "[::1]:80", "10.0.0.0/8", "http://x.example", "a b", "x.example:0", "x.example:http", "0x7f.1", "*.example.*"} {
		if _, err := egress.Parse(entry); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q is taken: %v", entry, err)
		}
	}
	if none, err := egress.Parse(" , "); err != nil || !none.Empty() || none.Allows("x", "80") {
		t.Errorf("nothing is %v, %v", none, err)
	}
}

// logged collects what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a proxy that may reach what list says, also on this machine when home is set,
// and answers a client that goes through it.
func serve(t *testing.T, list string, home bool) (*http.Client, *url.URL, *logged) {
	t.Helper()
	allowed, err := egress.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	guard := &netguard.Guard{}
	if home {
		if guard.Allow, err = netguard.ParseAllowed("127.0.0.0/8,::1"); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&egress.Proxy{List: allowed, Guard: guard, Log: slog.New(slog.NewTextHandler(log, nil))}).Serve(l, "session:s")
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	at := &url.URL{Scheme: "http", Host: l.Addr().String()}
	transport := &http.Transport{Proxy: http.ProxyURL(at)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, at, log
}

func body(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// port is that of a server's address.
func port(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

// What the list has is reached, by plain requests and by tunnels, and nothing else is.
func TestWhatIsListedIsReached(t *testing.T) {
	t.Parallel()
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Host, " ", r.URL.Path) })
	plain, secret := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	t.Cleanup(plain.Close)
	t.Cleanup(secret.Close)
	c, at, log := serve(t, "localhost:"+port(t, plain.URL)+",localhost:"+port(t, secret.URL), true)
	if code, text := body(t, c, "http://localhost:"+port(t, plain.URL)+"/a"); code != http.StatusOK || text != "localhost:"+port(t, plain.URL)+" /a" {
		t.Errorf("a plain request gives %d %q", code, text)
	}
	roots := x509.NewCertPool()
	roots.AddCert(secret.Certificate())
	tunnel := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}}
	t.Cleanup(tunnel.CloseIdleConnections)
	if code, text := body(t, tunnel, "https://localhost:"+port(t, secret.URL)+"/b"); code != http.StatusOK || !strings.HasSuffix(text, " /b") {
		t.Errorf("a tunnel gives %d %q", code, text)
	}
	if code, text := body(t, c, "http://other.example/"); code != http.StatusForbidden || !strings.Contains(text, "other.example:80") || !strings.Contains(text, egress.Env) {
		t.Errorf("what is not listed gives %d %q", code, text)
	}
	if _, err := tunnel.Get("https://other.example/"); err == nil {
		t.Error("a tunnel to what is not listed is made")
	}
	if !strings.Contains(log.String(), "other.example") || !strings.Contains(log.String(), "session:s") {
		t.Errorf("the log has %q", log.String())
	}
}

// A listed name that leads to an address which is not public is refused where it is dialed, and
// so is a request whose header names another host than the one that was judged.
func TestAListedNameLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Host) }))
	t.Cleanup(home.Close)
	list := "localhost:" + port(t, home.URL)
	c, _, _ := serve(t, list, false)
	if code, text := body(t, c, "http://"+list+"/"); code != http.StatusForbidden || !strings.Contains(text, "loopback") {
		t.Errorf("an address of this machine gives %d %q", code, text)
	}
	_, at, _ := serve(t, list, true)
	for request, want := range map[string]string{
		"GET http://" + list + "/ HTTP/1.1\r\nHost: metadata.internal\r\n\r\n": "200",
		"GET / HTTP/1.1\r\nHost: " + list + "\r\n\r\n":                         "400",
		"GET https://" + list + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                "400",
		"CONNECT 127.0.0.1:" + port(t, home.URL) + " HTTP/1.1\r\n\r\n":         "403",
		"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: " + list + "\r\n\r\n":          "403",
	} {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		text, _ := io.ReadAll(res.Body)
		if !strings.HasPrefix(res.Status, want) {
			t.Errorf("%q gives %s %q", request, res.Status, text)
		}
		if want == "200" && string(text) != list {
			t.Errorf("the host that answers was asked as %q", text)
		}
		_ = conn.Close()
	}
}
