package docker

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// leastAPI is the oldest API that can hold sandboxes.
const leastAPI = "1.41"

// facts are what the engine says of itself.
type facts struct {
	arch string // as Go names it
	cpus int
}

// connect reaches the engine and refuses one that could not keep the promises.
func connect(ctx context.Context, host string) (*client.Client, facts, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	engine, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, facts{}, sandbox.ErrUnusable.Saying("the address of the Docker engine, %s, cannot be used: %s", host, sentence(err)).Because(err)
	}
	f, err := inspect(ctx, engine, host)
	if err != nil {
		_ = engine.Close()
		return nil, facts{}, err
	}
	return engine, f, nil
}

func inspect(ctx context.Context, engine *client.Client, host string) (facts, error) {
	ping, err := engine.Ping(ctx, client.PingOptions{})
	if err != nil {
		return facts{}, unreachable(host, err)
	}
	if versions.LessThan(ping.APIVersion, leastAPI) {
		return facts{}, sandbox.ErrUnusable.Saying(
			"the Docker engine at %s has API %s, and sandboxes need %s: install Docker 20.10 or newer", host, ping.APIVersion, leastAPI)
	}
	info, err := engine.Info(ctx, client.InfoOptions{})
	if err != nil {
		return facts{}, unreachable(host, err)
	}
	f := facts{arch: info.Info.Architecture, cpus: info.Info.NCPU}
	if name, known := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[f.arch]; known {
		f.arch = name
	}
	var lacks []string
	for what, has := range map[string]bool{
		"memory limits (a cgroup controller)":                          info.Info.MemoryLimit,
		"processor limits (a cgroup controller)":                       info.Info.CPUCfsQuota,
		"limits on processes (a cgroup controller)":                    info.Info.PidsLimit,
		"its seccomp profile":                                          confined(info.Info.SecurityOptions),
		"Linux containers (it runs those of " + info.Info.OSType + ")": info.Info.OSType == "linux",
	} {
		if !has {
			lacks = append(lacks, what)
		}
	}
	if len(lacks) > 0 {
		return facts{}, sandbox.ErrUnusable.Saying(
			"the Docker engine at %s is without %s, which sandboxes are held by: `docker info` shows what it has; give it that", host, list(lacks))
	}
	return f, nil
}

// confined tells whether the engine filters system calls.
func confined(options []string) bool {
	for _, o := range options {
		if strings.HasPrefix(o, "name=seccomp") {
			return !strings.Contains(o, "unconfined")
		}
	}
	return false
}

// unreachable says why an engine does not answer, and what to do.
func unreachable(host string, err error) error {
	advice := "start it, or name another by " + EnvHost
	if errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), "permission denied") {
		return sandbox.ErrUnusable.Saying("the Docker engine at %s lets this user not in: add the user to the group that owns the socket, "+
			"which gives it the rights of root on this machine", host).Because(err)
	}
	return sandbox.ErrUnusable.Saying("no Docker engine answers at %s: %s", host, advice).Because(err)
}
