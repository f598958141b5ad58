package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/cadre-dev/cadre/internal/netguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheck(t *testing.T) {
	t.Parallel()
	for address, why := range map[string]string{
		"127.0.0.1": "loopback", "127.255.0.9": "loopback", "0.0.0.0": "this machine", "0.1.2.3": "this machine",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private",
		"100.64.0.1": "carrier", "100.127.255.254": "carrier", "169.254.1.1": "link-local",
		"169.254.169.254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "service address",
		"192.0.0.8": "reserved", "192.0.2.1": "documentation", "198.18.0.1": "measurements", "198.51.100.7": "documentation", "203.0.113.9": "documentation",
		"224.0.0.1": "multicast", "239.255.255.250": "multicast", "240.0.0.1": "reserved", "255.255.255.255": "reserved",
		"::1": "loopback", "::": "this machine", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "fec0::1": "private",
		"fd00::1": "private", "fc00::1": "private", "fd00:ec2::254": "metadata", "ff02::1": "multicast", "2001:db8::1": "documentation",
		"2001::1": "reserved", "2002:7f00:1::": "tunnelled", "64:ff9b:1::7f00:1": "private", "100::1": "reserved", "4000::1": "reserved",
		"::ffff:127.0.0.1": "loopback", "::ffff:169.254.169.254": "metadata", "::ffff:a00:1": "private",
		"64:ff9b::7f00:1": "loopback", "64:ff9b::a9fe:a9fe": "metadata", "64:ff9b::c0a8:101": "private", "::127.0.0.1": "reserved",
		"8.8.8.8": "", "1.1.1.1": "", "100.63.255.255": "", "100.128.0.1": "", "172.15.0.1": "", "172.32.0.1": "", "198.20.0.1": "", "223.255.255.255": "",
		"2606:4700::1111": "", "2a00:1450::1": "", "::ffff:8.8.8.8": "", "64:ff9b::808:808": "",
	} {
		err := new(netguard.Guard).Check("a.test", netip.AddrPortFrom(netip.MustParseAddr(address), 80))
		var refused *netguard.RefusedError
		switch {
		case why == "" && err != nil:
			t.Errorf("%s is refused: %v", address, err)
		case why != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Why, why)):
			t.Errorf("Check(%s) = %v, want it refused as %s", address, err, why)
		}
	}
	if err := new(netguard.Guard).Check("a.test", netip.AddrPort{}); err == nil {
		t.Error("an address that is none is let through")
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	list, err := netguard.ParseAllowed(" Wiki.local., build.local:8080, 10.1.0.0/16, 127.0.0.1:9000,[::1]:9000, fd00::5 ,,::ffff:192.168.0.1")
	if err != nil {
		t.Fatal(err)
	}
	g := &netguard.Guard{Allow: list}
	for _, c := range []struct {
		host, to string
		ok       bool
	}{
		{"wiki.local", "192.168.7.7:80", true}, {"WIKI.LOCAL.", "192.168.7.7:443", true}, {"wiki.local.evil.test", "192.168.7.7:80", false},
		{"build.local", "192.168.7.7:8080", true}, {"build.local", "192.168.7.7:80", false},
		{"any.test", "10.1.2.3:1", true}, {"any.test", "10.2.2.3:1", false}, {"10.1.2.3", "10.1.2.3:1", true}, {"x", "[::ffff:10.1.2.3]:1", true},
		{"x", "127.0.0.1:9000", true}, {"x", "127.0.0.1:9001", false}, {"x", "[::1]:9000", true}, {"x", "[::1]:9001", false},
		{"x", "[fd00::5]:7", true}, {"x", "[fd00::6]:7", false}, {"x", "192.168.0.1:7", true}, {"x", "192.168.0.2:7", false},
	} {
		if err := g.Check(c.host, netip.MustParseAddrPort(c.to)); (err == nil) != c.ok {
			t.Errorf("Check(%s, %s) = %v, want allowed: %v", c.host, c.to, err, c.ok)
		}
	}
	for _, bad := range []string{"10.0.0.0/33", "a b", "*.local", "host:0", "host:70000", "host:x", "a:b:c", "http://x", ":80", "::ffff:10.0.0.0/104"} {
		if _, err := netguard.ParseAllowed("ok.test," + bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("ParseAllowed(%q) = %v, want an error that quotes it", bad, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		"http://a.test/x": true, "https://a.test:8443": true, "file:///etc/passwd": false, "ftp://a.test": false, "http://": false, "http://:80/": false,
		"http://u@a.test": false, "http://u:p@a.test": false, "//a.test": false, "gopher://a.test": false, "": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := netguard.CheckURL(u); (err == nil) != ok {
			t.Errorf("CheckURL(%s) = %v, want ok: %v", raw, err, ok)
		}
	}
}

// get requests a URL through a guard and gives the body's end or the error.
func get(t *testing.T, g *netguard.Guard, raw string) error {
	t.Helper()
	transport := g.Transport()
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// TestDial: the guard stands between every spelling of a loopback address and a server.
func TestDial(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::1]"} {
		err := get(t, &netguard.Guard{}, "http://"+host+":"+port)
		var refused *netguard.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("a request to %s ends with %v, want it refused", host, err)
		}
	}
	// These are names to us. Where a resolver takes them for numbers, as this one does,
	// the address that comes out is judged; elsewhere there is no such name.
	g := &netguard.Guard{Resolver: nameServer(t, [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 1})}
	for _, host := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"} {
		if err := get(t, g, "http://"+host+":"+port); err == nil {
			t.Errorf("a request to %s was made", host)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests came through", hits.Load())
	}
	list, err := netguard.ParseAllowed("127.0.0.1:" + port)
	if err != nil {
		t.Fatal(err)
	}
	if err := get(t, &netguard.Guard{Allow: list}, server.URL); err != nil || hits.Load() != 1 {
		t.Errorf("an allowed request: %v, %d came through", err, hits.Load())
	}
}

// TestRebinding: a name that is public when it is looked at and private when it is
// dialed is refused, since what is dialed is judged.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	resolver := nameServer(t, [4]byte{8, 8, 8, 8}, [4]byte{127, 0, 0, 1})
	g := &netguard.Guard{Resolver: resolver}

	before, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.test")
	if err != nil || len(before) != 1 {
		t.Fatalf("the first look-up gives %v, %v", before, err)
	}
	if err := g.Check("rebind.test", netip.AddrPortFrom(before[0], 80)); err != nil {
		t.Fatalf("the first answer is refused: %v", err)
	}
	var refused *netguard.RefusedError
	if err := get(t, g, "http://rebind.test:"+port); !errors.As(err, &refused) || !refused.Addr.IsLoopback() {
		t.Errorf("the request ends with %v, want the loopback address refused", err)
	}
	if hits.Load() != 0 {
		t.Error("the request came through")
	}
	list, err := netguard.ParseAllowed("rebind.test")
	if err != nil {
		t.Fatal(err)
	}
	g.Allow = list
	if err := get(t, g, "http://rebind.test:"+port); err != nil || hits.Load() != 1 {
		t.Errorf("the name as an exception: %v, %d came through", err, hits.Load())
	}
}

// nameServer is a resolver whose name server answers first for the first question of
// addresses, and then for all others.
func nameServer(t *testing.T, first, then [4]byte) *net.Resolver {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-ended })
	go func() {
		defer close(ended)
		buf := make([]byte, 1500)
		answer := first
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			reply, counted := replyTo(buf[:n], answer)
			if counted {
				answer = then
			}
			if _, err := conn.WriteTo(reply, from); err != nil {
				return
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// replyTo answers a question of an A record, and with nothing any other.
func replyTo(query []byte, a [4]byte) (reply []byte, counted bool) {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil, false
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	q := m.Questions[0]
	if q.Type == dnsmessage.TypeA {
		counted = true
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: a},
		}}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil, false
	}
	return reply, counted
}

func FuzzParseAllowed(f *testing.F) {
	f.Add("a:1,[::1]:2,10.0.0.0/8")
	f.Fuzz(func(t *testing.T, list string) {
		a, err := netguard.ParseAllowed(list)
		if err != nil {
			return
		}
		g := &netguard.Guard{Allow: a}
		_ = g.Check("x", netip.MustParseAddrPort("127.0.0.1:80"))
	})
}
