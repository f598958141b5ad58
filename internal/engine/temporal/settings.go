package temporal

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Names of the environment variables that lead to an external server.
const (
	EnvAddress       = "CADRE_TEMPORAL_ADDRESS"         // host:port; set means external
	EnvNamespace     = "CADRE_TEMPORAL_NAMESPACE"       // default "default"
	EnvTLS           = "CADRE_TEMPORAL_TLS"             // true or false; default false, true when one of the following is set
	EnvTLSCA         = "CADRE_TEMPORAL_TLS_CA"          // file of the authorities that may vouch for the server
	EnvTLSCert       = "CADRE_TEMPORAL_TLS_CERT"        // file of our certificate
	EnvTLSKey        = "CADRE_TEMPORAL_TLS_KEY"         // file of its key
	EnvTLSServerName = "CADRE_TEMPORAL_TLS_SERVER_NAME" // the name in the server's certificate; default the host
	EnvAPIKey        = "CADRE_TEMPORAL_API_KEY"         //nolint:gosec // the name of a variable
	EnvAPIKeyFile    = "CADRE_TEMPORAL_API_KEY_FILE"    //nolint:gosec // the name of a variable
)

const defaultNamespace = "default"

// External says which Temporal server to use and how to speak with it.
type External struct {
	Address   string      // host:port
	Namespace string      // shared with whoever else uses it
	TLS       *tls.Config // nil for none

	key credential // "" for none
}

// String leaves the key out, wherever it is printed.
func (x External) String() string { return x.Address + "/" + x.Namespace }

// GoString leaves it out too.
func (x External) GoString() string { return x.String() }

// settings reads variables; the first that is wrong stays in err.
type settings struct {
	env func(name string) string
	err error
}

// ExternalFromEnv reads the variables with env. It is nil, without an error, when
// none names an external server. A value that is wrong is a fault that names its
// variable and holds no secret.
func ExternalFromEnv(env func(name string) string) (*External, error) {
	s := &settings{env: env}
	x := &External{Address: env(EnvAddress), Namespace: defaultNamespace}
	if x.Address == "" {
		for _, name := range []string{EnvNamespace, EnvTLS, EnvTLSCA, EnvTLSCert, EnvTLSKey, EnvTLSServerName, EnvAPIKey, EnvAPIKeyFile} {
			if env(name) != "" {
				return nil, wrong("%s is set and %s is not: name the Temporal server there, or unset both to use the embedded one", name, EnvAddress)
			}
		}
		return nil, nil //nolint:nilnil // none is what the variables say
	}
	if name := env(EnvNamespace); name != "" {
		x.Namespace = name
	}
	s.address(x.Address)
	x.key = s.apiKey()
	x.TLS = s.transport(x)
	return x, s.err
}

func wrong(format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "BAD_ENGINE_SETTING", format, args...)
}

func (s *settings) fail(format string, args ...any) {
	if s.err == nil {
		s.err = wrong(format, args...)
	}
}

func (s *settings) address(addr string) {
	host, port, err := net.SplitHostPort(addr)
	number, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || number == 0 || host == "" || strings.ContainsAny(host, "/@ ") {
		s.fail("%s=%q is no address: write host:port, such as temporal.example.com:7233", EnvAddress, addr)
	}
}

// apiKey takes the value or the file's content.
func (s *settings) apiKey() credential {
	value, path, from := s.env(EnvAPIKey), s.env(EnvAPIKeyFile), EnvAPIKey
	if value == "" && path == "" {
		return ""
	}
	if value != "" && path != "" {
		s.fail("%s and %s are both set: keep one", EnvAPIKey, EnvAPIKeyFile)
	}
	if path != "" {
		from = EnvAPIKeyFile
		value = string(s.read(EnvAPIKeyFile))
	}
	value = strings.TrimSpace(value)
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		s.fail("%s holds no API key: it must be one line of printable characters without spaces", from)
	}
	return bearer(value)
}

// transport is how to speak TLS, or nil.
func (s *settings) transport(x *External) *tls.Config {
	on := x.key != ""
	for _, name := range []string{EnvTLSCA, EnvTLSCert, EnvTLSKey, EnvTLSServerName} {
		on = on || s.env(name) != ""
	}
	if text := s.env(EnvTLS); text != "" {
		asked, err := strconv.ParseBool(text)
		if err != nil {
			s.fail("%s=%q is neither true nor false", EnvTLS, text)
		}
		if on && !asked {
			s.mustNotLack(x)
		}
		on = asked
	}
	if !on {
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.env(EnvTLSServerName)}
	s.authorities(c)
	s.certificate(c)
	return c
}

// mustNotLack refuses that TLS is off and something needs it. A key in the clear is
// fine on the way to the same machine.
func (s *settings) mustNotLack(x *External) {
	for _, name := range []string{EnvTLSCA, EnvTLSCert, EnvTLSKey, EnvTLSServerName} {
		if s.env(name) != "" {
			s.fail("%s is false and %s is set: unset one of them", EnvTLS, name)
		}
	}
	if host, _, _ := net.SplitHostPort(x.Address); x.key != "" && !isLoopback(host) {
		s.fail("%s is false, and an API key would travel to %s in the clear: leave TLS on", EnvTLS, x.Address)
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *settings) authorities(c *tls.Config) {
	if s.env(EnvTLSCA) == "" {
		return // those of the system
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(s.read(EnvTLSCA)) {
		s.fail("%s=%s holds no certificate in PEM form", EnvTLSCA, s.env(EnvTLSCA))
	}
}

func (s *settings) certificate(c *tls.Config) {
	cert, key := s.env(EnvTLSCert), s.env(EnvTLSKey)
	switch {
	case cert == "" && key == "":
		return
	case cert == "":
		s.fail("%s is set and %s is not: a certificate and its key belong together", EnvTLSKey, EnvTLSCert)
		return
	case key == "":
		s.fail("%s is set and %s is not: a certificate and its key belong together", EnvTLSCert, EnvTLSKey)
		return
	}
	pair, err := tls.X509KeyPair(s.read(EnvTLSCert), s.read(EnvTLSKey))
	if err != nil {
		s.fail("%s=%s and %s=%s are no certificate with its key in PEM form", EnvTLSCert, cert, EnvTLSKey, key)
	}
	c.Certificates = []tls.Certificate{pair}
}

// read reads the file that a variable names.
func (s *settings) read(name string) []byte {
	raw, err := os.ReadFile(s.env(name))
	if err != nil {
		s.fail("%s=%s cannot be read: name a file that this user may read", name, s.env(name))
	}
	return raw
}
