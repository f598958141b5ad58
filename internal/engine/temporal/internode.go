package temporal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"go.temporal.io/server/common/rpc/encryption"
)

// internode makes the TLS of the server's inner services. They have no notion of
// a credential, so each start makes a certificate, whose key stays in memory, and
// both sides of a connection must show it.
func internode() (*encryption.FixedTLSConfigProvider, error) {
	const name = "cadre-engine"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("engine: make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		DNSNames:              []string{name},
		NotBefore:             time.Now().Add(-24 * time.Hour), // clocks are set back
		NotAfter:              time.Now().AddDate(100, 0, 0),   // it lives as long as the process
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("engine: make a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("engine: read the certificate: %w", err)
	}
	only := x509.NewCertPool()
	only.AddCert(leaf)
	own := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}
	return &encryption.FixedTLSConfigProvider{
		InternodeServerConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: own, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: only,
		},
		InternodeClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: own, RootCAs: only, ServerName: name,
		},
	}, nil
}
