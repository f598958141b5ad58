package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// startWait bounds how long `up -d` waits for the server to be ready.
const startWait = 60 * time.Second

// spawn starts a server as a session of its own and answers its address once it
// is ready, or what it said instead.
func (c *app) spawn(ctx context.Context, child *exec.Cmd) (url string, err error) {
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ready, err := child.StdoutPipe()
	if err != nil {
		return "", err
	}
	complaint, err := os.CreateTemp("", "cadre-start-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = errors.Join(complaint.Close(), os.Remove(complaint.Name())) }()
	child.Stderr = complaint
	if err := child.Start(); err != nil {
		return "", err
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(ready).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		url, ok := strings.CutPrefix(text, "ready ")
		if !ok {
			_ = child.Wait()
			return "", startFailed(complaint.Name())
		}
		if said, err := os.ReadFile(complaint.Name()); err == nil && len(said) > 0 {
			c.note("%s", strings.TrimSpace(string(said)))
		}
		return url, child.Process.Release()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(startWait):
		return "", fmt.Errorf("the server (process %d) is not ready after %s; `cadre logs` says what it does", child.Process.Pid, startWait)
	}
}

// startFailed repeats what the server said, without its `error: `.
func startFailed(file string) error {
	data, err := os.ReadFile(file)
	if text := strings.Replace(string(data), "error: ", "", 1); err == nil && text != "" {
		return errors.New(text)
	}
	return errors.New("the server ended before it was ready; `cadre logs` says why")
}
