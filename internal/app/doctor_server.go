package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
)

func checkServer(dir string, pid int) Finding {
	s, err := config.ReadServer(dir)
	switch {
	case pid > 0 && err == nil:
		return Finding{"server", true, fmt.Sprintf("runs as process %d at %s", pid, s.URL), ""}
	case pid > 0:
		return Finding{"server", false, fmt.Sprintf("process %d holds the folder and has not said where it listens", pid), "wait until it is ready; `cadre logs` says what it does"}
	case err == nil:
		return Finding{"server", false, fmt.Sprintf("process %d ended without an orderly stop; its turns wait", s.PID), "start it again with `cadre up -d`: they go on where they were"}
	}
	return Finding{"server", true, "does not run", ""}
}

// checkAddress tries whether a server could listen where the next one will.
func checkAddress(ctx context.Context) Finding {
	addr, err := config.Listen("")
	if err != nil {
		return Finding{"address", false, fault.From(err).Message, "correct " + config.EnvListen}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return Finding{"address", false, addr + " is taken by " + whoAnswers(addr), "end that, or choose another address with --listen or " + config.EnvListen}
	case err != nil:
		return Finding{"address", false, fmt.Sprintf("%s cannot be listened on: %v", addr, err), "choose another address with --listen or " + config.EnvListen}
	}
	_ = l.Close()
	return Finding{"address", true, addr + " is free", ""}
}

// healthTime bounds how long a server may take to say how it is.
const healthTime = 5 * time.Second

// checkHealth asks the running server how it is.
func checkHealth(ctx context.Context, dir string, pid int) Finding {
	s, err := config.ReadServer(dir)
	if err != nil {
		return Finding{"health", true, "not asked: the server does not listen yet", ""}
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		return Finding{"health", false, err.Error(), "restart the server: its server.json is damaged"}
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil && config.Stopped(pid) {
		return Finding{"health", false, fmt.Sprintf("process %d is stopped by a signal (SIGSTOP): it answers nobody", pid), fmt.Sprintf("kill -CONT %d; its turns go on", pid)}
	}
	if err != nil {
		return Finding{"health", false, "the server does not answer at " + s.URL, "look into `cadre logs`; `cadre down` and `cadre up -d` restart it, and no turn is lost"}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	said := strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), "; ")
	if strings.Contains(said, "store: ") {
		return Finding{"health", false, said, "inputs are refused until that is mended, and turns wait; `cadre logs` says more"}
	}
	if err != nil || said != "ok" {
		return Finding{"health", false, said, "inputs are accepted and wait; `cadre logs` says more"}
	}
	return Finding{"health", true, "ok", ""}
}

// checkNotices repeats what the running server wants a person to know: that others of its
// database are silent. Nothing when there is nothing, or when it does not answer, which
// checkHealth tells.
func checkNotices(ctx context.Context, dir string) []Finding {
	s, err := config.ReadServer(dir)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/server", nil)
	if err != nil {
		return nil
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	var info struct{ Notices []string }
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&info) != nil {
		return nil
	}
	var all []Finding
	for _, notice := range info.Notices {
		what, advice, _ := strings.Cut(notice, ": ")
		all = append(all, Finding{"other servers", false, what, advice})
	}
	return all
}
