// Command temporald runs a plain Temporal server of the version that Cadre links,
// on SQLite files in a folder. It is for tests and for people who want to try the
// external mode of the engine without installing anything:
//
//	go run ./test/temporald -dir /tmp/temporal -listen 127.0.0.1:7233
//	CADRE_TEMPORAL_ADDRESS=127.0.0.1:7233 cadre up
//
// It is no server for anything that matters. It prints `ready ADDRESS` when it
// answers, and stops on SIGTERM. Without -client-ca and -api-key-file it listens on
// the loopback interface only.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/engine/temporal"
)

// Times that start and end need at most.
const (
	startTime = time.Minute
	stopTime  = 10 * time.Second
)

// flags are what the command line says.
type flags struct {
	listen, dir, namespace, cert, key, clientCA, apiKeyFile string
}

func main() {
	var f flags
	flag.StringVar(&f.listen, "listen", "127.0.0.1:7233", "address, IP:PORT; port 0 for any")
	flag.StringVar(&f.dir, "dir", "", "folder of its files, made when missing (required)")
	flag.StringVar(&f.namespace, "namespace", "default", "namespace, made when missing")
	flag.StringVar(&f.cert, "tls-cert", "", "file of its certificate")
	flag.StringVar(&f.key, "tls-key", "", "file of the certificate's key")
	flag.StringVar(&f.clientCA, "client-ca", "", "file of the authority that clients' certificates must come from")
	flag.StringVar(&f.apiKeyFile, "api-key-file", "", "file of the API key that clients must show")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, "temporald:", err)
		os.Exit(1) //nolint:gocritic // the signal's end needs no undoing
	}
}

func run(ctx context.Context, f flags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s, err := temporal.StartServer(starting, o)
	if err != nil {
		return err
	}
	fmt.Println("ready", s.Address())
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	return s.Stop(ending)
}

func (f flags) options() (o temporal.ServerOptions, err error) {
	if f.dir == "" {
		return o, errors.New("-dir is missing: name the folder of the server's files")
	}
	o = temporal.ServerOptions{
		Dir: f.dir, Listen: f.listen, Namespace: f.namespace,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if f.apiKeyFile != "" {
		key, err := os.ReadFile(f.apiKeyFile)
		if err != nil {
			return o, err
		}
		if o.APIKey = strings.TrimSpace(string(key)); o.APIKey == "" {
			return o, fmt.Errorf("%s is empty", f.apiKeyFile)
		}
	}
	o.TLS, err = f.tls()
	return o, err
}

func (f flags) tls() (*tls.Config, error) {
	if f.cert == "" && f.key == "" {
		if f.clientCA != "" {
			return nil, errors.New("-client-ca needs -tls-cert and -tls-key")
		}
		return nil, nil //nolint:nilnil // no TLS is what the flags say
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if f.clientCA == "" {
		return c, nil
	}
	raw, err := os.ReadFile(f.clientCA)
	if err != nil {
		return nil, err
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", f.clientCA)
	}
	return c, nil
}
