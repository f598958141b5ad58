package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Allowed are hosts and networks that may be reached although they are not public.
// The zero value is none.
type Allowed struct{ rules []rule }

// rule is one entry: a name, or a range of addresses, and perhaps a port.
type rule struct {
	host   string
	prefix netip.Prefix // valid when host is ""
	port   uint16       // 0 is any
}

// ParseAllowed reads a list of `host`, `host:port`, `address`, `address:port` and
// `address/bits`, with commas between. A name stands for whatever addresses it has; a
// network for addresses, however they were found. The error quotes the entry and says
// what it should be.
func ParseAllowed(list string) (Allowed, error) {
	var a Allowed
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		r, err := parseRule(entry)
		if err != nil {
			return Allowed{}, fmt.Errorf("%q is neither a host, with a port or without, nor an address or a network such as 10.0.0.0/8: %w", entry, err)
		}
		a.rules = append(a.rules, r)
	}
	return a, nil
}

func parseRule(entry string) (r rule, err error) {
	if strings.Contains(entry, "/") {
		p, err := netip.ParsePrefix(entry)
		if err != nil {
			return rule{}, err
		}
		if p.Addr().Is4In6() {
			return rule{}, fmt.Errorf("write the address in its own form, %s", p.Addr().Unmap())
		}
		return rule{prefix: p.Masked()}, nil
	}
	host := entry
	if h, port, err := net.SplitHostPort(entry); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return rule{}, fmt.Errorf("the port %q is no number between 1 and 65535", port)
		}
		host, r.port = h, uint16(n)
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap().WithZone("")
		r.prefix = netip.PrefixFrom(ip, ip.BitLen())
		return r, nil
	}
	if host == "" || strings.ContainsAny(host, ":*@ \t") {
		return rule{}, fmt.Errorf("%q is no host", host)
	}
	r.host = canonical(host)
	return r, nil
}

// canonical is a host's name as it is compared.
func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// has tells whether an exception holds for an address that is dialed for a host.
func (a Allowed) has(host string, to netip.AddrPort) bool {
	host, ip := canonical(host), to.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(a.rules, func(r rule) bool {
		if r.port != 0 && r.port != to.Port() {
			return false
		}
		if r.host != "" {
			return r.host == host
		}
		return r.prefix.Contains(ip)
	})
}
