package built

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Times that no server needs: what takes longer is a failure.
const (
	readyTime = 60 * time.Second
	stopTime  = 20 * time.Second
)

// Server is a cadre server in a process of its own. Its methods are for one
// goroutine; its clients are for all.
type Server struct {
	Data  string // its data folder
	URL   string
	Token string
	Ready time.Time // when it said that it was ready

	// Env is the environment of the next start beyond Environ.
	Env []string

	binary string
	cmd    *exec.Cmd
	exited chan struct{}
	said   *output
}

// Start runs a server on a data folder, which it makes when it is not there, and
// returns when the server is ready. The test's end stops it.
func Start(t testing.TB, data string) *Server {
	t.Helper()
	s := New(t, data)
	s.Start(t)
	return s
}

// New is Start without the start, so that Env can be set before.
func New(t testing.TB, data string) *Server {
	t.Helper()
	s := &Server{Data: data, binary: Binary(t)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends with\n%s", s.LogTail(30))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ByEngine is Start of a server whose turns all go by way of its engine, for tests of
// what that keeps and loses.
func ByEngine(t testing.TB, data string) *Server {
	t.Helper()
	s := New(t, data)
	s.Env = []string{"CADRE_DISPATCH=engine"}
	s.Start(t)
	return s
}

// Hurt runs a server that has failpoints on a data folder, with environ in Env. The
// server may end before it is ready: that is the error. The test's end stops it.
func Hurt(t testing.TB, data string, environ ...string) (*Server, error) {
	t.Helper()
	s := &Server{Data: data, Env: environ, binary: Failpoints(t)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends with\n%s", s.LogTail(30))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s, s.start()
}

// Ended waits for the end of the process, which the test does not bring about, and
// says whether it came in time.
func (s *Server) Ended(within time.Duration) bool {
	select {
	case <-s.exited:
		return true
	case <-time.After(within):
		return false
	}
}

// Start runs the server again after Kill or Stop, on another port.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Launch is Start for servers that several tests share; AtEnd stops it.
func Launch(binary, data string) (*Server, error) {
	s := &Server{Data: data, binary: binary}
	AtEnd(func() { _ = s.Stop() })
	return s, s.start()
}

func (s *Server) start() error {
	s.cmd = exec.Command(s.binary, "server", "--data", s.Data, "--listen", "127.0.0.1:0")
	s.cmd.Env = append(Environ(), s.Env...)
	s.said = &output{}
	s.cmd.Stderr = s.said
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	line := make(chan string, 1)
	go func() {
		first, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(first)
		_, _ = io.Copy(io.Discard, stdout)
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	select {
	case first := <-line:
		url, ok := strings.CutPrefix(first, "ready ")
		if !ok {
			<-s.exited
			return fmt.Errorf("the server did not become ready: %s", s.said)
		}
		s.URL, s.Ready = url, time.Now()
	case <-time.After(readyTime):
		return errors.Join(fmt.Errorf("the server is not ready after %s", readyTime), s.Kill())
	}
	token, err := os.ReadFile(filepath.Join(s.Data, "operator.token"))
	s.Token = strings.TrimSpace(string(token))
	return err
}

// Running says whether the process lives.
func (s *Server) Running() bool {
	if s.exited == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Kill ends the process as a power failure would, and waits for its end.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL, stopTime) }

// Stop ends it in order. A server that has ended already is no error.
func (s *Server) Stop() error {
	err := s.end(syscall.SIGTERM, stopTime)
	if err != nil {
		err = errors.Join(err, s.Kill())
	}
	return err
}

func (s *Server) end(sig syscall.Signal, within time.Duration) error {
	if !s.Running() {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		return nil
	case <-time.After(within):
		return fmt.Errorf("the server (process %d) lives %s after %s", s.cmd.Process.Pid, within, sig)
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// LogTail is the end of the server's log.
func (s *Server) LogTail(lines int) string {
	data, err := os.ReadFile(filepath.Join(s.Data, "server.log"))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n") + "\n" + s.said.String()
}

// output collects what a process writes. Safe for concurrent use.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to it.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String is what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
