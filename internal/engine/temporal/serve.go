package temporal

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
)

// ServerOptions are the settings of a server that stands by itself.
type ServerOptions struct {
	Dir       string       // the folder of its files, made when missing. Required
	Listen    string       // IP:PORT; port 0 for one that the system chooses. Required
	Namespace string       // made when missing. Default "default"
	TLS       *tls.Config  // of the server; with ClientCAs it asks clients for certificates. Default none
	APIKey    string       // that clients must show with each call. Default none
	Log       *slog.Logger // Default slog.Default()
}

// Server is a Temporal server of this program's version, for tests and trials of the
// external mode. It promises nothing to users of other features of Temporal: there
// is no index of workflows, and no worker of its own.
type Server struct {
	folder *folder
	server *embedded
}

// StartServer starts one. Without a client certificate to ask for and without an API
// key it listens on the loopback interface only.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	shows, err := o.face()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	f, err := openFolder(o.Dir, o.Namespace, o.Log)
	if err != nil {
		return nil, err
	}
	if err := makeNamespace(database(f.path(mainFile), opened.Add(1)), o.Namespace); err != nil {
		return nil, errors.Join(err, f.close())
	}
	e, err := startEmbedded(ctx, f, shows)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return &Server{folder: f, server: e}, nil
}

func (o ServerOptions) face() (face, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	number, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || net.ParseIP(host) == nil {
		return face{}, fmt.Errorf("engine: %q is no address to listen on: write IP:PORT, such as 127.0.0.1:7233", o.Listen)
	}
	asks := o.APIKey != "" || o.TLS != nil && o.TLS.ClientCAs != nil
	if !asks && !isLoopback(host) {
		return face{}, fmt.Errorf("engine: %s can be reached from elsewhere and nothing says who may: ask for an API key or a client certificate, or listen on 127.0.0.1", o.Listen)
	}
	if asks && o.TLS == nil && !isLoopback(host) {
		return face{}, fmt.Errorf("engine: %s can be reached from elsewhere, and API keys would travel in the clear: give a certificate", o.Listen)
	}
	shows := face{ip: host, port: int(number), tls: o.TLS}
	if o.APIKey != "" {
		shows.key = bearer(o.APIKey)
	}
	return shows, nil
}

// Address is where clients connect to.
func (s *Server) Address() string { return s.server.address() }

// Stop ends it; acknowledged work is in the files.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.server.stop(ctx); err != nil {
		return err
	}
	return s.folder.close()
}
