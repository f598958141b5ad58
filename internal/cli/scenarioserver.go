package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1/agentv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1/artifactv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	"github.com/cadre-dev/cadre/internal/config"
)

// scratch is a server of this process that keeps nothing.
type scratch struct {
	dir    string // removed with everything in it
	client *client
	agents agentv1connect.AgentServiceClient
	cancel context.CancelFunc
	ended  chan error
}

// scratchEngine is the engine that needs no files and starts at once.
const scratchEngine = "memory"

// startScratch starts a server in a temporary folder and waits until it is ready. It
// outlives ctx: tests that are interrupted end before it does.
func (c *app) startScratch(ctx context.Context) (*scratch, error) {
	dir, err := os.MkdirTemp("", "cadre-test-*")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &scratch{dir: dir, cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan string, 1)
	data := filepath.Join(dir, "data")
	go func() {
		s.ended <- c.Serve(serving, ServeOptions{
			DataDir: data, Listen: "127.0.0.1:0", Engine: scratchEngine, FailFast: true, OnThisMachine: true, Ready: func(url string) { ready <- url },
		})
	}()
	select {
	case url := <-ready:
		return s, s.connect(url, data)
	case err := <-s.ended:
		s.ended <- nil
		if err == nil {
			err = errors.New("it ended before it was ready")
		}
		return nil, errors.Join(fmt.Errorf("the server for the tests does not start: %w", err), s.stop())
	case <-time.After(startWait):
		return nil, errors.Join(fmt.Errorf("the server for the tests is not ready after %s", startWait), s.stop())
	}
}

// connect makes the clients. What the environment says of another server's token
// does not count.
func (s *scratch) connect(url, data string) error {
	token, err := config.ReadToken(data)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	s.client = newClient(url, data, &app{}, "started for the tests")
	opts := []connect.ClientOption{connect.WithInterceptors(&credential{token: token, base: url, dir: data, why: "started for the tests", up: "cadre test"})}
	s.client.opts = opts
	s.client.sessions = sessionv1connect.NewSessionServiceClient(s.client.http, url, opts...)
	s.client.artifacts = artifactv1connect.NewArtifactServiceClient(s.client.http, url, opts...)
	s.agents = agentv1connect.NewAgentServiceClient(s.client.http, url, opts...)
	return nil
}

// stop ends the server and removes its folder.
func (s *scratch) stop() error {
	s.cancel()
	err := <-s.ended
	if s.client != nil {
		s.client.http.CloseIdleConnections()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
