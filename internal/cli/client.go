package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1/artifactv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1/budgetv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/model/v1/modelv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/sandbox/v1/sandboxv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/usage/v1/usagev1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/search/v1/searchv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1/serverv1connect"
	"github.com/cadre-dev/cadre/internal/config"
)

// envToken holds the token of callers that cannot read the data folder.
const envToken = "CADRE_TOKEN"

// client talks to one server.
type client struct {
	url       string
	http      *http.Client
	opts      []connect.ClientOption
	sessions  sessionv1connect.SessionServiceClient
	artifacts artifactv1connect.ArtifactServiceClient
	models    modelv1connect.ModelServiceClient
	usage     usagev1connect.UsageServiceClient
	budgets   budgetv1connect.BudgetServiceClient
	sandboxes sandboxv1connect.SandboxServiceClient
	search    searchv1connect.SearchServiceClient
	server    serverv1connect.ServerServiceClient
}

// connect finds the server: the flag, CADRE_SERVER, the data folder's
// server.json, or the address on which a server would listen by default.
func (c *app) connect() (*client, error) {
	dir, err := c.dataDir()
	if err != nil {
		return nil, err
	}
	for _, given := range [][2]string{{c.server, "--server"}, {os.Getenv(config.EnvServer), config.EnvServer}} {
		if given[0] == "" {
			continue
		}
		base, err := baseURL(given[0])
		if err != nil {
			return nil, usage("%s=%s is no address: write host:port or http://host:port", given[1], given[0])
		}
		return newClient(base, dir, c, "named by "+given[1]), nil
	}
	file := filepath.Join(dir, config.ServerFileName)
	s, err := config.ReadServer(dir)
	switch {
	case err == nil && s.URL != "":
		return newClient(s.URL, dir, c, "named by "+file), nil
	case err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s, which says where the server is, cannot be read (%s): remove it and start the server again, or name an address with --server", file, reasonOf(err))
	}
	listen, err := config.Listen("")
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(listen, ":0") {
		return nil, fmt.Errorf("no server runs on the data folder %s: start one with `cadre up -d%s`, or name an address with --server or %s", dir, c.dataFlag(), config.EnvServer)
	}
	return newClient("http://"+listen, dir, c, "the default, since there is no "+file), nil
}

func (c *app) dataFlag() string {
	if c.data == "" {
		return ""
	}
	return " --data " + c.data
}

func baseURL(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("no address")
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"), nil
}

// tokenOf is CADRE_TOKEN, or the data folder's operator token when it can be read.
func tokenOf(dir string) string {
	if t := os.Getenv(envToken); t != "" {
		return t
	}
	t, err := config.ReadToken(dir)
	if err != nil {
		return ""
	}
	return t
}

func newClient(base, dir string, c *app, why string) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	h := &http.Client{Transport: transport}
	opts := []connect.ClientOption{connect.WithInterceptors(&credential{token: tokenOf(dir), base: base, dir: dir, why: why, up: "cadre up -d" + c.dataFlag()})}
	return &client{
		url: base, http: h, opts: opts,
		sessions:  sessionv1connect.NewSessionServiceClient(h, base, opts...),
		artifacts: artifactv1connect.NewArtifactServiceClient(h, base, opts...),
		models:    modelv1connect.NewModelServiceClient(h, base, opts...),
		usage:     usagev1connect.NewUsageServiceClient(h, base, opts...),
		budgets:   budgetv1connect.NewBudgetServiceClient(h, base, opts...),
		sandboxes: sandboxv1connect.NewSandboxServiceClient(h, base, opts...),
		search:    searchv1connect.NewSearchServiceClient(h, base, opts...),
		server:    serverv1connect.NewServerServiceClient(h, base, opts...),
	}
}

// credential adds the token and explains calls that no server took.
type credential struct {
	token, base, dir string
	why              string // how the address was found
	up               string // the command that starts a server
}

func (i *credential) authorize(h http.Header) {
	if i.token != "" {
		h.Set("Authorization", "Bearer "+i.token)
	}
}

// WrapUnary handles calls with one answer.
func (i *credential) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		i.authorize(req.Header())
		res, err := next(ctx, req)
		return res, i.explain(err)
	}
}

// WrapStreamingClient handles streams. What breaks one is explained by the call
// before it: the watching commands ask for the session first.
func (i *credential) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		i.authorize(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler does nothing: this is a client.
func (i *credential) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// unanswered is the error of a call that no server took: it says which address
// was tried, and what to do.
type unanswered struct {
	text string
	err  error
}

func (u *unanswered) Error() string { return u.text }

func (u *unanswered) Unwrap() error { return u.err }

func (i *credential) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isUnreachable(err):
		return &unanswered{fmt.Sprintf("no server answers at %s (%s): start one with `%s`, or name an address with --server or %s", i.base, i.why, i.up, config.EnvServer), err}
	case connect.CodeOf(err) == connect.CodeUnauthenticated:
		sent := "what was sent is the content of " + filepath.Join(i.dir, config.TokenFile)
		switch {
		case os.Getenv(envToken) != "":
			sent = "what was sent is the content of " + envToken
		case i.token == "":
			sent = fmt.Sprintf("none was sent, since there is no %s", filepath.Join(i.dir, config.TokenFile))
		}
		return &unanswered{fmt.Sprintf("the server at %s (%s) does not accept the token: %s. Name its data folder with --data, or its token in %s", i.base, i.why, sent, envToken), err}
	}
	if connect.CodeOf(err) == connect.CodeUnavailable && !connect.IsWireError(err) {
		return &unanswered{fmt.Sprintf("the server at %s broke the connection off: it may be ending or starting again. See `cadre status`, and repeat the command", i.base), err}
	}
	if foreign(err) {
		return &unanswered{fmt.Sprintf("what answers at %s (%s) is no Cadre server: name another address with --server or %s", i.base, i.why, config.EnvServer), err}
	}
	return err
}

// foreign says whether an answer came from a program that is no Cadre server.
func foreign(err error) bool {
	if connect.IsWireError(err) {
		return false
	}
	return connect.CodeOf(err) == connect.CodeUnimplemented || strings.Contains(err.Error(), "content-type")
}

func isUnreachable(err error) bool {
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &op) && op.Op == "dial"
}
