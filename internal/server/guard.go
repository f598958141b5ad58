package server

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1/artifactv1connect"
	"github.com/cadre-dev/cadre/internal/fault"
)

// guard keeps foreign web pages away from a port on this machine: the Host must
// name this machine, an Origin must be the port's own, and nothing larger than
// what the path allows is read.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) {
			s.opt.Dispatcher.refuse(w, r, fault.New(fault.PermissionDenied, "HOST_REFUSED", "the Host %q does not name this machine; call 127.0.0.1 or localhost", r.Host))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !sameOrigin(origin, r.Host) {
			s.opt.Dispatcher.refuse(w, r, fault.New(fault.PermissionDenied, "ORIGIN_REFUSED", "the Origin %q is not this server's own", origin))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, largest(r))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// largest is how much of a request's body is read, in bytes.
func largest(r *http.Request) int64 {
	switch r.URL.Path {
	case artifactv1connect.ArtifactServiceCreateProcedure, strings.TrimSuffix(filesPath, "/"):
		return maxUpload
	}
	return maxBody
}

func loopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, host)
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.opt.Dispatcher.refuse(w, r, fault.New(fault.NotFound, "NO_SUCH_PATH", "nothing answers %s %s; the paths are in docs/reference and in the OpenAPI file", r.Method, r.URL.Path))
}
