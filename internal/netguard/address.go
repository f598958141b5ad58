package netguard

import "net/netip"

// block is a range of addresses that are not of the public internet.
type block struct {
	prefix netip.Prefix
	what   string
}

// blocks are the ranges; the first that holds an address names it.
var blocks = func() []block {
	var all []block
	for _, b := range []struct{ prefix, what string }{
		{"169.254.169.254/32", "the metadata address of cloud machines"},
		{"168.63.129.16/32", "a service address of cloud machines"},
		{"100.100.100.200/32", "the metadata address of cloud machines"},
		{"fd00:ec2::254/128", "the metadata address of cloud machines"},
		{"127.0.0.0/8", "a loopback address"},
		{"0.0.0.0/8", "an address of this machine"},
		{"10.0.0.0/8", "a private address"},
		{"172.16.0.0/12", "a private address"},
		{"192.168.0.0/16", "a private address"},
		{"100.64.0.0/10", "an address behind a carrier's translation"},
		{"169.254.0.0/16", "a link-local address"},
		{"192.0.0.0/24", "a reserved address"},
		{"192.0.2.0/24", "a documentation address"},
		{"198.51.100.0/24", "a documentation address"},
		{"203.0.113.0/24", "a documentation address"},
		{"192.88.99.0/24", "a reserved address"},
		{"198.18.0.0/15", "an address for measurements"},
		{"224.0.0.0/4", "a multicast address"},
		{"240.0.0.0/4", "a reserved address"},
		{"::1/128", "a loopback address"},
		{"::/128", "an address of this machine"},
		{"fe80::/10", "a link-local address"},
		{"fec0::/10", "a private address"},
		{"fc00::/7", "a private address"},
		{"ff00::/8", "a multicast address"},
		{"2001:db8::/32", "a documentation address"},
		{"3fff::/20", "a documentation address"},
		{"2001::/23", "a reserved address"},  // Teredo among them, which hides another one
		{"2002::/16", "a tunnelled address"}, // 6to4 hides another one
		{"64:ff9b:1::/48", "a private address"},
	} {
		all = append(all, block{netip.MustParsePrefix(b.prefix), b.what})
	}
	return all
}()

var (
	// global is where all public addresses of version 6 are.
	global = netip.MustParsePrefix("2000::/3")
	// translated addresses hold one of version 4 that a gateway dials.
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

// kindOf says what kind an address is when it is not a public one, else "".
func kindOf(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if translated.Contains(a) {
		b := a.As16()
		return kindOf(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.what
		}
	}
	if !a.IsValid() || a.Is6() && !global.Contains(a) {
		return "a reserved address"
	}
	return ""
}
