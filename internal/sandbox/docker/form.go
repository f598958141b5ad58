package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// Who works inside, and where things lie there.
const (
	uid       = 65532
	user      = "65532:65532"
	workspace = "/workspace"
	secrets   = "/run/secrets" // a volume that goes with the container, where there is a token
	tokenFile = secrets + "/token"
	line      = "/run/cadre"
	program   = "/run/cadre-hands"
)

// The variables inside.
const (
	varSocket = "CADRE_HANDS_SOCKET"
	varRoot   = "CADRE_HANDS_ROOT"
	varQueue  = "CADRE_TASK_QUEUE"
	varToken  = "CADRE_TOKEN_FILE" //nolint:gosec // names a file
)

const (
	openFiles   = 4096 // an engine that may not raise its own limit has that at least
	firstToKill = 500  // of this machine, when its memory ends
)

// form is what a container is made of, but for its image and its epoch.
type form struct {
	key    sandbox.Key
	name   string
	token  string
	config container.Config
	host   container.HostConfig
}

// form describes the container of a sandbox. lineDir and file are on this machine.
func (d *driver) form(k sandbox.Key, env sandbox.Env, lineDir, file string) *form {
	f := &form{key: k, name: d.name(k), token: env.Token()}
	vars := []string{
		varSocket + "=" + line + "/" + sandbox.SocketName, varRoot + "=" + workspace, varQueue + "=" + env.Queue(), "HOME=" + workspace,
	}
	if f.token != "" {
		vars = append(vars, varToken+"="+tokenFile)
	}
	f.config = container.Config{
		Hostname: "sandbox", User: user, Env: vars, Entrypoint: []string{program}, Cmd: []string{}, WorkingDir: workspace,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, StopSignal: "SIGTERM",
	}
	l, on := d.config.limits, true
	f.host = container.HostConfig{
		NetworkMode: container.NetworkMode(d.config.network), IpcMode: "private", CgroupnsMode: "private",
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig:      container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
		ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, Init: &on, OomScoreAdj: firstToKill,
		Mounts: []mount.Mount{
			{Type: mount.TypeBind, Source: lineDir, Target: line, ReadOnly: true},
			{Type: mount.TypeBind, Source: file, Target: program, ReadOnly: true},
		},
		Tmpfs: map[string]string{
			"/run": "rw,noexec,nosuid,nodev,mode=755,size=1m",
			"/tmp": fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", l.Memory/2),
		},
		Resources: container.Resources{
			Memory: l.Memory, MemorySwap: l.Memory, PidsLimit: &l.PIDs,
			NanoCPUs: int64(math.Min(l.CPUs, float64(d.facts.cpus)) * 1e9), // the engine refuses more than there are
			Ulimits: []*container.Ulimit{
				{Name: "core"}, {Name: "fsize", Soft: l.Disk, Hard: l.Disk}, {Name: "nofile", Soft: openFiles, Hard: openFiles},
			},
		},
	}
	if f.token != "" {
		f.host.Mounts = append(f.host.Mounts,
			mount.Mount{Type: mount.TypeVolume, Target: secrets, VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: d.owned(k)}})
	}
	if !k.Scope.Keeps() {
		f.host.Tmpfs[workspace] = fmt.Sprintf("rw,exec,nosuid,nodev,uid=%d,gid=%d,mode=755,size=%d", uid, uid, min(l.Disk, l.Memory))
	}
	return f
}

// name is what a container and its volume are called: it tells installations apart that
// share an engine.
func (d *driver) name(k sandbox.Key) string {
	sum := sha256.Sum256([]byte(d.owner))
	return sandbox.Name(k) + "-" + hex.EncodeToString(sum[:3])
}

// digest tells forms apart.
func (f *form) digest() string {
	text, err := json.Marshal([]any{f.config, f.host})
	if err != nil {
		panic(err) // there is nothing in it that has no text
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// create is the engine's request for the container, of an image and with an epoch.
func (d *driver) create(f *form, i image, epoch int64) client.ContainerCreateOptions {
	config, host := f.config, f.host
	config.Image, config.Labels = i.id, d.owned(f.key)
	maps.Copy(config.Labels, map[string]string{
		labelRole: roleSandbox, labelEpoch: strconv.FormatInt(epoch, 10), labelForm: f.digest(),
	})
	maps.Copy(config.Labels, i.labels())
	if f.key.Scope.Keeps() {
		host.Mounts = append(host.Mounts[:len(host.Mounts):len(host.Mounts)], d.volume(f.key, f.name))
	}
	return client.ContainerCreateOptions{Name: f.name, Config: &config, HostConfig: &host}
}

// volume is the workspace. The engine makes it when there is none of that name.
func (d *driver) volume(k sandbox.Key, name string) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: name, Target: workspace,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: d.owned(k)},
	}
}

// prepare is the engine's request for a container that never runs: through its root, which
// can be written, the workspace's folder gets its owner.
func (d *driver) prepare(f *form, i image) client.ContainerCreateOptions {
	labels := d.owned(f.key)
	labels[labelRole] = rolePrepare
	return client.ContainerCreateOptions{
		Config:     &container.Config{Image: i.id, Labels: labels, User: user, Entrypoint: []string{program}, NetworkDisabled: true},
		HostConfig: &container.HostConfig{NetworkMode: "none", Mounts: []mount.Mount{d.volume(f.key, f.name)}},
	}
}
