// Package netguard dials for URLs that strangers chose: tenants, agents, models, pages
// that redirect. It lets through addresses of the public internet only. What is judged
// is the address that is dialed, at the moment when it is dialed, so neither the
// spelling of a host nor a name that resolves to something else the second time leads
// past it.
//
// It does not judge what a public host does with a request, and it knows nothing of
// proxies: a request that goes through one is dialed by the proxy.
package netguard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 20 * time.Second
	mostHeaders   = 256 << 10 // bytes
)

// RefusedError says that an address may not be reached.
type RefusedError struct {
	Addr netip.Addr
	Why  string // what kind of address it is: `a private address`
}

// Error names the address and its kind.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s is %s", e.Addr, e.Why) }

// Guard decides which addresses may be reached. The zero value lets the public
// internet through and nothing else. Safe for concurrent use; do not change it then.
type Guard struct {
	// Allow are the operator's exceptions. Default: none.
	Allow Allowed
	// Resolver finds the addresses of a name. Default: the system's.
	Resolver *net.Resolver
}

// Check tells whether an address may be dialed for a host; the error is a
// *RefusedError.
func (g *Guard) Check(host string, to netip.AddrPort) error {
	why := kindOf(to.Addr())
	if why == "" || g.Allow.has(host, to) {
		return nil
	}
	return &RefusedError{Addr: to.Addr(), Why: why}
}

// DialContext is that of net.Dialer, for TCP. Each address that the name has is judged
// on its own before it is dialed.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.Resolver}
	d.ControlContext = func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %s cannot be judged: %w", address, err)
		}
		if network != "tcp4" && network != "tcp6" {
			return fmt.Errorf("the network %s is not dialed", network)
		}
		return g.Check(host, to)
	}
	return d.DialContext(ctx, network, address)
}

// Transport makes the requests of strangers: through the guard, never through a proxy,
// one connection for each. Close its idle connections when it is no longer used.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: mostHeaders,
		DisableKeepAlives:      true,
	}
}

// CheckURL tells what makes a URL one that is not requested for a stranger: another
// scheme than http and https, no host, or a name and a password in it. The error is
// for people. Which address the host has is judged when it is dialed.
func CheckURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("only http and https URLs can be fetched, not %q", u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("the URL has no host")
	case u.User != nil:
		return fmt.Errorf("the URL holds a user name or a password, which is not sent: leave it out")
	}
	return nil
}
