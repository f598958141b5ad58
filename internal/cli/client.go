package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1/serverv1connect"
	"github.com/cadre-dev/cadre/gen/go/rpc"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/resource"
)

// client talks to one server.
type client struct {
	url      string
	http     *http.Client
	opts     []connect.ClientOption
	sessions sessionv1connect.SessionServiceClient
	server   serverv1connect.ServerServiceClient
}

// connect finds the server: the flag, CADRE_SERVER, or the data folder's
// server.json.
func (c *app) connect() (*client, error) {
	dir, err := c.dataDir()
	if err != nil {
		return nil, err
	}
	address, where := c.server, "--server"
	if address == "" {
		address, where = os.Getenv(config.EnvServer), config.EnvServer
	}
	if address == "" {
		s, rerr := config.ReadServer(dir)
		if rerr != nil || s.URL == "" {
			return nil, fmt.Errorf("no server runs on the data folder %s: start one with `cadre up -d%s`, or name its address with --server or %s", dir, c.dataFlag(), config.EnvServer)
		}
		address = s.URL
	}
	u, err := baseURL(address)
	if err != nil {
		return nil, usage("%s=%s is no address: write host:port or http://host:port", where, address)
	}
	return newClient(u, tokenOf(dir), c), nil
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
	if t := os.Getenv("CADRE_TOKEN"); t != "" {
		return t
	}
	t, err := config.ReadToken(dir)
	if err != nil {
		return ""
	}
	return t
}

func newClient(base, token string, c *app) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	h := &http.Client{Transport: transport}
	opts := []connect.ClientOption{connect.WithInterceptors(&credential{token: token, base: base, hint: "cadre up -d" + c.dataFlag()})}
	return &client{
		url: base, http: h, opts: opts,
		sessions: sessionv1connect.NewSessionServiceClient(h, base, opts...),
		server:   serverv1connect.NewServerServiceClient(h, base, opts...),
	}
}

// credential adds the token and says what to do when nobody answers.
type credential struct{ token, base, hint string }

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

// WrapStreamingClient handles streams.
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

// unreachable is the error of a server that does not answer.
type unreachable struct {
	base, hint string
	err        error
}

func (u *unreachable) Error() string {
	return fmt.Sprintf("no server answers at %s: start one with `%s`, or name another with --server", u.base, u.hint)
}

func (u *unreachable) Unwrap() error { return u.err }

func (i *credential) explain(err error) error {
	if isUnreachable(err) {
		return &unreachable{i.base, i.hint, err}
	}
	return err
}

func isUnreachable(err error) bool {
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &op) && op.Op == "dial"
}

// call invokes any unary method of the contract by its procedure.
func (cl *client) call(ctx context.Context, procedure string, in proto.Message) (proto.Message, error) {
	opts := append([]connect.ClientOption{
		connect.WithCodec(anyCodec{}),
		connect.WithResponseInitializer(func(spec connect.Spec, m any) error {
			out, err := outputOf(spec.Procedure)
			if err == nil {
				m.(*anyMessage).Message = out
			}
			return err
		}),
	}, cl.opts...)
	res, err := connect.NewClient[anyMessage, anyMessage](cl.http, cl.url+procedure, opts...).CallUnary(ctx, connect.NewRequest(&anyMessage{in}))
	if err != nil {
		return nil, err
	}
	return res.Msg.Message, nil
}

// anyMessage carries a message whose type only the procedure knows.
type anyMessage struct{ proto.Message }

type anyCodec struct{}

// Name is protobuf's binary form.
func (anyCodec) Name() string { return "proto" }

// Marshal encodes the message inside.
func (anyCodec) Marshal(v any) ([]byte, error) { return proto.Marshal(v.(*anyMessage).Message) }

// Unmarshal decodes into the message inside.
func (anyCodec) Unmarshal(data []byte, v any) error {
	return proto.Unmarshal(data, v.(*anyMessage).Message)
}

func outputOf(procedure string) (proto.Message, error) {
	for _, m := range rpc.Methods {
		if m.Procedure == procedure {
			t, err := protoregistry.GlobalTypes.FindMessageByName(m.Descriptor.Output().FullName())
			if err != nil {
				return nil, err
			}
			return t.New().Interface(), nil
		}
	}
	return nil, fmt.Errorf("%s is not in the contract", procedure)
}

// methodOf finds a method of the kind's service.
func methodOf(k resource.Kind, method string) (rpc.Method, bool) {
	want := protoreflect.Name(resource.Meta(k).GetName() + "Service")
	for _, m := range rpc.Methods {
		if m.Service.Name() == want && string(m.Name) == method {
			return m, true
		}
	}
	return rpc.Method{}, false
}

// kindArg reads a kind from the command line and finds its method.
func kindArg(word, method string) (resource.Kind, rpc.Method, error) {
	k, ok := resource.ParseKind(word)
	if !ok {
		return 0, rpc.Method{}, usage("there is no kind %q; the kinds are %s", word, strings.Join(kindNames(method), ", "))
	}
	m, ok := methodOf(k, method)
	if !ok {
		return 0, m, usage("%s cannot be used with %s: not built yet", strings.ToLower(method), resource.Meta(k).GetPlural())
	}
	return k, m, nil
}

func kindNames(method string) []string {
	var names []string
	for _, k := range resource.Kinds() {
		if _, ok := methodOf(k, method); ok {
			names = append(names, resource.Meta(k).GetPlural())
		}
	}
	return names
}
