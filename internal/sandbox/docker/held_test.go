package docker_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
	"github.com/cadre-dev/cadre/internal/workspace"
)

func session(id string) sandbox.Key { return sandbox.Key{Scope: sandbox.Session, ID: id} }

func ensure(t testing.TB, p sandbox.Provisioner, k sandbox.Key, token string) {
	t.Helper()
	env := sandbox.NewEnv(k.String(), token, identity.User)
	var err error
	switch k.Scope {
	case sandbox.Session:
		err = p.EnsureSession(context.Background(), k.ID, env)
	case sandbox.Workflow:
		err = p.EnsureWorkflow(context.Background(), k.ID, env)
	default:
		err = p.CreateConnect(context.Background(), k.ID, env)
	}
	if err != nil {
		t.Fatalf("ensure %s: %v", k, err)
	}
}

// shell runs a line inside and answers what it printed.
func shell(t testing.TB, ws workspace.Workspace, line string) (string, workspace.Exit) {
	t.Helper()
	p, err := ws.Start(context.Background(), workspace.Command{ID: "c" + strings.ReplaceAll(time.Now().Format("150405.000000000"), ".", ""), Session: "s", Execution: "x", Line: line})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("%s does not end", line)
	}
	return strings.TrimSpace(string(p.Output(0).Text)), p.Exit()
}

// What runs inside is held: another user than root, also where the image says root; no
// capability; a filter of system calls; a root that cannot be written; no network; bounds.
func TestHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	image(t, w.engine, "cadre.test/root:1", "USER 0", `ENTRYPOINT ["/bin/false"]`, `HEALTHCHECK CMD /bin/false`, "VOLUME /data", "LABEL cadre.dev/owner=another")
	w.env[docker.EnvImage], w.env[sandbox.EnvDisk], w.env[sandbox.EnvPIDs] = "cadre.test/root:1", "1m", "64"
	p := w.open(t)
	defer func() { _ = p.Close() }()
	k := session("ses_held")
	ensure(t, p, k, "")
	ws := w.inside(t, k)
	if name := ws.Name(); name != "/workspace" {
		t.Errorf("the workspace is %s", name)
	}
	for line, want := range map[string]string{
		`id -u; id -g; id -G`: "65532\n65532\n65532",
		`grep -E '^(CapPrm|CapEff|CapBnd|CapInh|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t' | tr '\n' ' '`: "CapInh:0000000000000000 CapPrm:0000000000000000 CapEff:0000000000000000 CapBnd:0000000000000000 CapAmb:0000000000000000 NoNewPrivs:1 Seccomp:2",
		`touch /x /bin/x /etc/x /run/x /run/cadre/x /data/x 2>/dev/null || echo refused`:                                   "refused",
		`ls -d /x /bin/x /etc/x /run/x /run/cadre/x /data/x 2>/dev/null | wc -l`:                                           "0",
		`touch /workspace/x /tmp/x "$HOME/x" && echo written`:                                                              "written",
		`printf '#!/bin/sh\necho ran' >/tmp/p && chmod +x /tmp/p && /tmp/p`:                                                "ran",
		`ls /sys/class/net`: "lo",
		`head -c 2000000 /dev/zero >/workspace/big; ls -l /workspace/big | awk '{print $5}'`:                                 "1048576",
		`sh -c 'i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done' >/dev/null 2>&1 && echo unbounded || echo bounded`: "bounded",
		`ulimit -c`:  "0",
		`hostname`:   "sandbox",
		`echo $HOME`: "/workspace",
	} {
		if got, exit := shell(t, ws, line); got != want && !(strings.Contains(line, "big") && strings.HasSuffix(got, want)) {
			t.Errorf("%s\nprints %q, %+v; want %q", line, got, exit, want)
		}
	}
	c, err := w.engine.Client.ContainerInspect(t.Context(), names(t, w, k)[0], client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h, config := c.Container.HostConfig, c.Container.Config
	if h.Memory != 256<<20 || h.MemorySwap != h.Memory || h.NanoCPUs != 1e9 || *h.PidsLimit != 64 || h.Privileged || len(h.Devices) > 0 ||
		h.PidMode != "" || h.UsernsMode != "" || h.NetworkMode != "none" || !*h.Init || h.LogConfig.Config["max-size"] != "1m" || c.Container.State.Health != nil {
		t.Errorf("the container has %+v", h)
	}
	if config.User != "65532:65532" || config.Labels["cadre.dev/owner"] != w.owner {
		t.Errorf("the container has %+v", config)
	}
}

// names are the containers of a sandbox.
func names(t testing.TB, w *world, k sandbox.Key) (all []string) {
	t.Helper()
	found, err := w.engine.Client.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: w.filter(k)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Items {
		all = append(all, c.ID)
	}
	return all
}

// volumes are the named volumes of a sandbox, and those of its container.
func volumes(t testing.TB, w *world, k sandbox.Key) (all []string) {
	t.Helper()
	found, err := w.engine.Client.VolumeList(context.Background(), client.VolumeListOptions{Filters: w.filter(k)})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found.Items {
		all = append(all, v.Name)
	}
	return all
}

// The program inside gets its variables and nothing else. C36: of the request the queue
// comes in, and the token where there is one.
func TestVariablesInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open(t)
	defer func() { _ = p.Close() }()
	for _, c := range []struct {
		key   sandbox.Key
		token string
		want  []string
	}{
		{session("ses_env"), "the-secret-token", []string{"CADRE_TOKEN_FILE=/run/secrets/token"}},
		{sandbox.Key{Scope: sandbox.Connect, ID: "req_env"}, "", nil},
	} {
		ensure(t, p, c.key, c.token)
		found, err := w.engine.Client.ContainerInspect(t.Context(), names(t, w, c.key)[0], client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := append([]string{
			"CADRE_HANDS_SOCKET=/run/cadre/" + sandbox.SocketName, "CADRE_HANDS_ROOT=/workspace", "CADRE_TASK_QUEUE=" + c.key.String(), "HOME=/workspace",
		}, c.want...)
		got := found.Container.Config.Env
		if !slices.Equal(got, want) {
			t.Errorf("%s: the variables are %q, want %q", c.key, got, want)
		}
	}
}

// A secret is in no label, argument or variable, and what the engine tells of a sandbox
// does not hold it: the user inside has a file that nobody else reads. Without a token there
// is neither file nor variable.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	const secret = "sentinel-0123456789-token"
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "sentinel-key"
	p := w.open(t)
	defer func() { _ = p.Close() }()
	k := session("ses_secret")
	ensure(t, p, k, secret)
	ws := w.inside(t, k)
	if got, exit := shell(t, ws, `cat /run/secrets/token; echo; ls -ln /run/secrets/token | cut -c1-10`); got != secret+"\n-r--------" {
		t.Errorf("the token's file: %q, %+v", got, exit)
	}
	all := map[string]any{}
	for _, id := range names(t, w, k) {
		c, err := w.engine.Client.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{Size: true})
		if err != nil {
			t.Fatal(err)
		}
		all["container"] = c
		top, err := w.engine.Client.ContainerTop(t.Context(), id, client.ContainerTopOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all["processes"] = top
	}
	for _, name := range volumes(t, w, k) {
		v, err := w.engine.Client.VolumeInspect(t.Context(), name, client.VolumeInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all["volume "+name] = v
	}
	if len(all) < 3 {
		t.Fatalf("the engine tells only %v", all)
	}
	for what, said := range all {
		text, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "sentinel") {
			t.Errorf("%s: %s", what, text)
		}
	}
	for _, line := range []string{`env`, `cat /proc/[0-9]*/cmdline`, `cat /proc/[0-9]*/environ`} {
		if got, _ := shell(t, ws, line); strings.Contains(got, "sentinel") {
			t.Errorf("%s: %s", line, got)
		}
	}

	// The next start has the next token, or none.
	if err := p.Stop(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	ensure(t, p, k, "")
	if got, _ := shell(t, w.inside(t, k), `ls -a /run/secrets /run/cadre 2>&1; cat /proc/1/environ | tr '\0' '\n' | grep -c TOKEN`); strings.Contains(got, "token\n") || !strings.HasSuffix(got, "\n0") {
		t.Errorf("without a token: %q", got)
	}
}
