// Package dockertest gives tests a Docker engine: the one that CADRE_TEST_DOCKER_HOST
// names, else one of their own, which it starts as root from the installed dockerd, with
// its data in a folder of its own, without a network and without a trace afterwards.
package dockertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// The variables.
const (
	EnvHost = "CADRE_TEST_DOCKER_HOST" // names an engine of this machine
	EnvRun  = "CADRE_TEST_DOCKER"      // 1: an engine that is not there is a failure
)

// Engine is an engine for tests. Share one with Main and Shared.
type Engine struct {
	Host   string // as drivers and clients take it
	Client *client.Client

	dir  string // "" of one that was given
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	log  string
}

var shared struct {
	sync.Once
	engine *Engine
	err    error
}

// Main runs a package's tests and ends the engine that they shared.
func Main(m *testing.M) {
	m.Run() // its result is the process's
	Stop()
}

// Stop ends the engine that a package's tests shared, for packages with a TestMain of their
// own.
func Stop() {
	if shared.engine != nil {
		shared.engine.stop()
	}
}

// Shared is the engine that the package's tests share; the package's TestMain must be
// Main, or call Stop. Without one the test is skipped, except where CADRE_TEST_DOCKER is set, as
// `make test-docker` does. Where CI is set and that is not, the test is left to it.
func Shared(t testing.TB) *Engine {
	t.Helper()
	if os.Getenv(EnvRun) == "" && os.Getenv("CI") != "" {
		t.Skip("Docker: left to make test-docker")
	}
	shared.Do(func() { shared.engine, shared.err = open() })
	if shared.err != nil {
		missing(t, shared.err)
	}
	return shared.engine
}

// errNone says what is missing for an engine.
var errNone = errors.New("none can be started")

func missing(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNone) && os.Getenv(EnvRun) == "" {
		t.Skipf("no Docker engine: %v", err)
	}
	t.Fatalf("Docker: %v", err)
}

func open() (*Engine, error) {
	if given := os.Getenv(EnvHost); given != "" {
		e := &Engine{Host: given}
		return e, e.connect()
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: only root can, or set %s", errNone, EnvHost)
	}
	path, err := exec.LookPath("dockerd")
	if err != nil {
		if path = "/usr/sbin/dockerd"; !isFile(path) {
			return nil, fmt.Errorf("%w: dockerd was not found; install the package docker.io, or set %s", errNone, EnvHost)
		}
	}
	return start(path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func start(path string) (*Engine, error) {
	dir, err := os.MkdirTemp("", "cadre-docker-")
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir, log: filepath.Join(dir, "log"), Host: "unix://" + filepath.Join(dir, "sock")}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o600); err != nil {
		return nil, err
	}
	if err := e.serve(path); err != nil {
		return nil, err
	}
	if err := e.connect(); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// connect waits until the engine answers.
func (e *Engine) connect() (err error) {
	if e.Client, err = client.New(client.WithHost(e.Host)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := e.Client.Ping(ctx, client.PingOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-e.done: // nil of one that was given
		case <-ctx.Done():
		case <-tick.C:
			continue
		}
		said, _ := os.ReadFile(e.log)
		return fmt.Errorf("the engine does not answer: %w\n%s", err, said)
	}
}

// args are dockerd's: nothing outside its folder is read or written, but for cgroups.
func (e *Engine) args() []string {
	return []string{
		"--data-root", filepath.Join(e.dir, "data"), "--exec-root", filepath.Join(e.dir, "exec"), "--pidfile", filepath.Join(e.dir, "pid"),
		"--config-file", filepath.Join(e.dir, "config.json"), "-H", e.Host, "--cgroup-parent", e.group(),
		"--iptables=false", "--ip6tables=false", "--bridge=none", "--log-level=warn",
	}
}

// group is the folder of the containers' cgroups.
func (e *Engine) group() string { return "/" + filepath.Base(e.dir) }

// stop ends the engine with all that runs in it, and removes what it kept.
func (e *Engine) stop() {
	if e.Client != nil {
		_ = e.Client.Close()
	}
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Kill()
	<-e.done
	removeGroups(e.group())
	_ = os.RemoveAll(e.dir)
}
