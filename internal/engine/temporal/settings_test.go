package temporal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// authority makes certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key, a.pem, _ = a.make(t, "authority")
	return a
}

// make answers a certificate that the authority vouches for; the first is its own.
func (a *authority) make(t *testing.T, name string) (*x509.Certificate, *ecdsa.PrivateKey, []byte, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.ParseIP(loopback)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: a.cert == nil,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func (a *authority) server(t *testing.T, asks bool) *tls.Config {
	t.Helper()
	_, _, cert, key := a.make(t, "server")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if asks {
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		c.ClientCAs.AddCert(a.cert)
	}
	return c
}

func from(t *testing.T, vars map[string]string) *External {
	t.Helper()
	x, err := ExternalFromEnv(func(name string) string { return vars[name] })
	if err != nil {
		t.Fatalf("the variables are refused: %v", err)
	}
	return x
}

func TestExternalSpeaksTLS(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	s := stand(t, ServerOptions{TLS: a.server(t, true)})
	_, _, cert, key := a.make(t, "client")
	vars := map[string]string{EnvAddress: s.o.Listen, EnvTLSCA: write(t, "ca", a.pem)}

	bare := reachOut(t, from(t, vars), "led_bare", atOnce())
	plain := reachOut(t, from(t, map[string]string{EnvAddress: s.o.Listen}), "led_plain", atOnce())
	stranger := reachOut(t, from(t, map[string]string{EnvAddress: s.o.Listen, EnvTLSCA: write(t, "ca", other.pem)}), "led_stranger", atOnce())
	vars[EnvTLSCert], vars[EnvTLSKey] = write(t, "cert", cert), write(t, "key", key)
	d := atOnce()
	e := reachOut(t, from(t, vars), "led_a", d)
	d.awaitEngine(t)
	d.accept(t, e, "a")
	d.await(t, "a", "its work is done", ended)
	for _, without := range []*external{bare, plain, stranger} {
		awaitTrouble(t, without, s.o.Listen)
	}
	awaitTrouble(t, stranger, "TLS", EnvTLS)
}

func TestExternalShowsItsAPIKey(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const right, wrong = "right-key-of-the-test", "wrong-key-of-the-test"
	s := stand(t, ServerOptions{TLS: a.server(t, false), APIKey: right})
	vars := map[string]string{EnvAddress: s.o.Listen, EnvTLSCA: write(t, "ca", a.pem), EnvAPIKeyFile: write(t, "key", []byte(right+"\n"))}
	d := atOnce()
	e := reachOut(t, from(t, vars), "led_a", d)
	d.awaitEngine(t)
	d.accept(t, e, "a")
	d.await(t, "a", "its work is done", ended)

	delete(vars, EnvAPIKeyFile)
	none := reachOut(t, from(t, vars), "led_none", atOnce())
	awaitTrouble(t, none, s.o.Listen, EnvAPIKey)
	vars[EnvAPIKey] = wrong
	x := from(t, vars)
	refused := reachOut(t, x, "led_wrong", atOnce())
	awaitTrouble(t, refused, s.o.Listen, EnvAPIKey)
	said := refused.Health(t.Context()).Error() + fmt.Sprintf("%v %+v %#v", x, *x, x.key) + refused.log.Handler().(*record).String()
	if strings.Contains(said, wrong) {
		t.Errorf("the key is shown: %s", said)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, certPEM, keyPEM := a.make(t, "client")
	cert, key := write(t, "cert", certPEM), write(t, "key", keyPEM)
	const secret = "a secret"
	at := func(more ...string) map[string]string {
		vars := map[string]string{EnvAddress: "temporal.example.com:7233"}
		for n := 0; n < len(more); n += 2 {
			vars[more[n]] = more[n+1]
		}
		return vars
	}
	for name, c := range map[string]struct {
		vars map[string]string
		bad  string // the variable that the fault names; "" when all is well
		tls  bool
	}{
		"plain":                         {vars: at()},
		"TLS":                           {vars: at(EnvTLS, "true"), tls: true},
		"TLS by API key":                {vars: at(EnvAPIKey, "abc"), tls: true},
		"TLS by CA":                     {vars: at(EnvTLSCA, cert), tls: true},
		"TLS by certificate":            {vars: at(EnvTLSCert, cert, EnvTLSKey, key), tls: true},
		"TLS by name":                   {vars: at(EnvTLSServerName, "x"), tls: true},
		"TLS off on purpose":            {vars: at(EnvTLS, "false")},
		"API key to the same machine":   {vars: at(EnvAddress, "127.0.0.1:7233", EnvTLS, "false", EnvAPIKey, "abc")},
		"API key in the clear":          {vars: at(EnvTLS, "false", EnvAPIKey, "abc"), bad: EnvTLS},
		"certificate without TLS":       {vars: at(EnvTLS, "false", EnvTLSCert, cert, EnvTLSKey, key), bad: EnvTLSCert},
		"neither true nor false":        {vars: at(EnvTLS, "perhaps"), bad: EnvTLS},
		"no port":                       {vars: at(EnvAddress, "temporal.example.com"), bad: EnvAddress},
		"port 0":                        {vars: at(EnvAddress, "temporal.example.com:0"), bad: EnvAddress},
		"no host":                       {vars: at(EnvAddress, ":7233"), bad: EnvAddress},
		"a URL":                         {vars: at(EnvAddress, "https://temporal.example.com:7233"), bad: EnvAddress},
		"namespace without address":     {vars: map[string]string{EnvNamespace: "x"}, bad: EnvNamespace},
		"key without address":           {vars: map[string]string{EnvAPIKey: secret}, bad: EnvAPIKey},
		"unreadable CA":                 {vars: at(EnvTLSCA, cert+".absent"), bad: EnvTLSCA},
		"CA that is none":               {vars: at(EnvTLSCA, write(t, "no", []byte("no"))), bad: EnvTLSCA},
		"certificate without key":       {vars: at(EnvTLSCert, cert), bad: EnvTLSKey},
		"key without certificate":       {vars: at(EnvTLSKey, key), bad: EnvTLSCert},
		"certificate and another's key": {vars: at(EnvTLSCert, cert, EnvTLSKey, cert), bad: EnvTLSKey},
		"API key and file":              {vars: at(EnvAPIKey, "abc", EnvAPIKeyFile, key), bad: EnvAPIKeyFile},
		"API key of two words":          {vars: at(EnvAPIKey, secret), bad: EnvAPIKey},
		"unreadable API key":            {vars: at(EnvAPIKeyFile, key+".absent"), bad: EnvAPIKeyFile},
		"empty API key":                 {vars: at(EnvAPIKeyFile, write(t, "empty", nil)), bad: EnvAPIKeyFile},
	} {
		x, err := ExternalFromEnv(func(name string) string { return c.vars[name] })
		switch {
		case c.bad == "" && err != nil:
			t.Errorf("%s: refused with %v", name, err)
		case c.bad == "" && (x.TLS != nil) != c.tls:
			t.Errorf("%s: TLS is %t", name, x.TLS != nil)
		case c.bad != "" && (fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(fault.From(err).Message, c.bad)):
			t.Errorf("%s: %v; want a fault that names %s", name, err, c.bad)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the fault shows the secret: %v", name, err)
		}
	}
	if x, err := ExternalFromEnv(func(string) string { return "" }); x != nil || err != nil {
		t.Errorf("without variables: %v, %v; want the embedded engine", x, err)
	}
}

func TestServerThatAsksNothingStaysOnLoopback(t *testing.T) {
	t.Parallel()
	tls1 := &tls.Config{MinVersion: tls.VersionTLS12}
	for name, o := range map[string]ServerOptions{
		"open":               {Listen: "0.0.0.0:0"},
		"encrypted but open": {Listen: "0.0.0.0:0", TLS: tls1},
		"key in the clear":   {Listen: "0.0.0.0:0", APIKey: "abc"},
		"no address":         {Listen: "somewhere"},
	} {
		if _, err := o.face(); err == nil {
			t.Errorf("%s: it may listen", name)
		}
	}
	if _, err := (ServerOptions{Listen: "0.0.0.0:0", APIKey: "abc", TLS: tls1}).face(); err != nil {
		t.Errorf("with a key and TLS: %v", err)
	}
}
