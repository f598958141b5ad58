package egress

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Env lists what sandboxes may reach; empty for nothing.
const Env = "CADRE_SANDBOX_EGRESS"

// List are the hosts that may be reached. The zero value is none.
type List struct{ rules []rule }

// rule is one entry: a host, or with sub all names below one.
type rule struct {
	host string
	sub  bool
	port string // "" for 80 and 443
}

// Parse reads a list of `host`, `host:port`, `*.domain` and `*.domain:port`, with commas
// between. `*.domain` is every name below the domain, and not the domain itself.
func Parse(list string) (l List, err error) {
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		r := rule{host: entry}
		if h, port, err := net.SplitHostPort(entry); err == nil {
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return List{}, bad(entry)
			}
			r.host, r.port = h, port
		}
		if r.host, r.sub = strings.CutPrefix(r.host, "*."); !plain(r.host) {
			return List{}, bad(entry)
		}
		r.host = canonical(r.host)
		l.rules = append(l.rules, r)
	}
	return l, nil
}

func bad(entry string) error {
	return fault.New(fault.InvalidArgument, "BAD_SANDBOX_EGRESS",
		"%s: %q is no host that sandboxes may reach: write names such as modules.example or *.packages.example, with a port or without, and commas between; addresses are not taken", Env, entry)
}

// plain tells a name: addresses have none, and could be spelled in many ways.
func plain(host string) bool {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "" || strings.ContainsAny(host, "*/:@ \t[]") {
		return false
	}
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	return strings.Trim(last, "0123456789.") != "" // the last part of a name is no number
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Empty tells a list of nothing.
func (l List) Empty() bool { return len(l.rules) == 0 }

// Allows tells whether a host may be reached on a port.
func (l List) Allows(host, port string) bool {
	host = canonical(host)
	for _, r := range l.rules {
		named := host == r.host
		if r.sub {
			named = strings.HasSuffix(host, "."+r.host)
		}
		if named && (port == r.port || r.port == "" && (port == "80" || port == "443")) {
			return true
		}
	}
	return false
}
