package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1/agentv1connect"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// server is a cadre process and clients of it.
type server struct {
	cmd      *exec.Cmd
	url      string
	took     time.Duration // from exec to ready
	sessions sessionv1connect.SessionServiceClient
	agents   agentv1connect.AgentServiceClient
}

// serve starts a server on a data folder.
func (b *bench) serve(ctx context.Context, data string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, b.binary, "server", "--data", data, "--listen", "127.0.0.1:0")}
	s.cmd.Env = append(os.Environ(), "CADRE_SERVER=", "CADRE_DATA=")
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w (run `make build` first)", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s.took = time.Since(began)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server on %s did not become ready", data), s.stop())
	}
	s.url = strings.TrimPrefix(strings.TrimSpace(line), "ready ")
	token, err := os.ReadFile(filepath.Join(data, "operator.token"))
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	h := &http.Client{Transport: transport}
	auth := connect.WithInterceptors(bearer("Bearer " + strings.TrimSpace(string(token))))
	s.sessions = sessionv1connect.NewSessionServiceClient(h, s.url, auth)
	s.agents = agentv1connect.NewAgentServiceClient(h, s.url, auth)
	return s, nil
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// agent declares an agent that plays a script.
func (b *bench) agent(ctx context.Context, s *server, name, script string, tools ...string) error {
	path := filepath.Join(b.work, name+".yaml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return err
	}
	_, err := s.agents.Apply(ctx, connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: name},
		Spec: &agentv1.AgentSpec{Instructions: "You are measured.", Model: "scripted:" + path, Tools: tools},
	}}))
	return err
}

func (s *server) run(ctx context.Context, agent, folder string) (session, execution string, err error) {
	req := &sessionv1.RunAgentRequest{Agent: agent, Message: "go"}
	if folder != "" {
		req.Workspace = &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: folder}}}
	}
	res, err := s.sessions.RunAgent(ctx, connect.NewRequest(req))
	if err != nil {
		return "", "", err
	}
	return res.Msg.GetSession().GetMetadata().GetId(), res.Msg.GetExecution().GetMetadata().GetId(), nil
}

// bearer puts a token on every request.
type bearer string

// WrapUnary handles calls with one answer.
func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		req.Header().Set("Authorization", string(b))
		return next(ctx, req)
	}
}

// WrapStreamingClient handles streams.
func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("Authorization", string(b))
		return conn
	}
}

// WrapStreamingHandler does nothing: this is a client.
func (b bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
