package docker

import (
	"net"
	"net/url"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// The driver's variables; those that bound a sandbox are the seam's.
const (
	// EnvImage names the image of new sandboxes; there is no default. Any will do that has
	// a shell. The engine pulls it when it has none of that name.
	EnvImage = "CADRE_SANDBOX_IMAGE"
	// EnvHost is the engine's address; default DOCKER_HOST, and the system's socket.
	EnvHost = "CADRE_DOCKER_HOST"
	// EnvNetwork is a network of the engine that sandboxes join; default none.
	EnvNetwork = "CADRE_DOCKER_NETWORK"

	envUsualHost = "DOCKER_HOST"
	usualHost    = "unix:///var/run/docker.sock"
)

// config is what the environment asks for.
type config struct {
	host    string
	image   string
	network string
	limits  sandbox.Limits
}

// fromEnv reads it.
func fromEnv(env func(string) string) (c config, err error) {
	if c.limits, err = sandbox.LimitsFromEnv(env); err != nil {
		return c, err
	}
	if c.host, err = hostFromEnv(env); err != nil {
		return c, err
	}
	if c.image = env(EnvImage); c.image == "" {
		return c, sandbox.ErrUnusable.Saying("%s=docker needs an image: set %s to one that has a shell and the tools of your agents, such as debian:12", sandbox.EnvProvisioner, EnvImage)
	}
	if c.network = env(EnvNetwork); c.network == "" {
		c.network = "none"
	}
	if c.network == "host" || strings.HasPrefix(c.network, "container:") {
		return c, fault.New(fault.InvalidArgument, "BAD_SANDBOX_SETTING",
			"%s=%s would let sandboxes into this machine's own network: name a network of the engine, or leave it empty for none", EnvNetwork, c.network)
	}
	return c, nil
}

// hostFromEnv is the engine's address. It must be on this machine.
func hostFromEnv(env func(string) string) (string, error) {
	name, host := EnvHost, env(EnvHost)
	if host == "" {
		name, host = envUsualHost, env(envUsualHost)
	}
	if host == "" {
		return usualHost, nil
	}
	if u, err := url.Parse(host); err == nil {
		ip := net.ParseIP(u.Hostname())
		if u.Scheme == "unix" || u.Scheme == "tcp" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
			return host, nil
		}
	}
	return "", sandbox.ErrUnusable.Saying(
		"%s=%s is no Docker engine of this machine, and only such a one can mount the server's socket into sandboxes: set %s to a unix:// address", name, host, EnvHost)
}
