package docker_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
)

// engine is one that only says what it is.
func engine(t *testing.T, api string, info map[string]any) string {
	t.Helper()
	path := filepath.Join(short(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Api-Version", api)
		out.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/info") {
			_ = json.NewEncoder(out).Encode(info)
		}
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "unix://" + path
}

// able is what an engine says that can hold sandboxes.
func able(change map[string]any) map[string]any {
	all := map[string]any{
		"OSType": "linux", "Architecture": "x86_64", "NCPU": 2, "MemoryLimit": true, "CpuCfsQuota": true, "PidsLimit": true,
		"SecurityOptions": []string{"name=seccomp,profile=default"},
	}
	for name, value := range change {
		all[name] = value
	}
	return all
}

// An engine that cannot hold sandboxes is refused in one sentence that says what to do, by
// an open and by what doctor asks.
func TestUnusable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host  string
		words []string
	}{
		"none":              {"unix://" + filepath.Join(t.TempDir(), "none"), []string{"no Docker engine answers", "start it", docker.EnvHost}},
		"too old":           {engine(t, "1.40", able(nil)), []string{"API 1.40", "1.41", "20.10"}},
		"no memory limits":  {engine(t, "1.41", able(map[string]any{"MemoryLimit": false})), []string{"memory limits", "docker info"}},
		"no bounds at all":  {engine(t, "1.41", able(map[string]any{"CpuCfsQuota": false, "PidsLimit": false})), []string{"processor limits", "processes"}},
		"no seccomp":        {engine(t, "1.41", able(map[string]any{"SecurityOptions": []string{}})), []string{"seccomp"}},
		"seccomp set aside": {engine(t, "1.41", able(map[string]any{"SecurityOptions": []string{"name=seccomp,profile=unconfined"}})), []string{"seccomp"}},
		"Windows":           {engine(t, "1.41", able(map[string]any{"OSType": "windows"})), []string{"runs those of windows"}},
	} {
		o := sandbox.Options{Env: func(name string) string {
			return map[string]string{docker.EnvHost: c.host, docker.EnvImage: "i"}[name]
		}}
		_, err := docker.Open(t.Context(), o)
		for what, err := range map[string]error{"open": err, "usable": docker.Registration.Usable(t.Context(), o)} {
			var f *fault.Fault
			if !errors.Is(err, sandbox.ErrUnusable) || !errors.As(err, &f) || strings.Contains(f.Message, "\n") {
				t.Errorf("%s: %s: %v", name, what, err)
				continue
			}
			for _, word := range c.words {
				if !strings.Contains(f.Message, word) {
					t.Errorf("%s: %s: %q does not say %q", name, what, f.Message, word)
				}
			}
		}
	}
}

// A user whom the socket does not let in is told what lets him in.
func TestNotLetIn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root is let in everywhere")
	}
	host := engine(t, "1.41", able(nil))
	if err := os.Chmod(strings.TrimPrefix(host, "unix://"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := docker.Open(t.Context(), sandbox.Options{Env: func(name string) string {
		return map[string]string{docker.EnvHost: host, docker.EnvImage: "i"}[name]
	}})
	refused(t, err, sandbox.ErrUnusable, "lets this user not in", "group")
}

// An engine that can is usable, with newer APIs too; without the program that works inside
// none is.
func TestUsable(t *testing.T) {
	t.Parallel()
	missing := fault.New(fault.FailedPrecondition, "NO_HANDS", "make build builds it")
	for _, api := range []string{"1.41", "1.47", "1.99"} {
		host := engine(t, api, able(map[string]any{"Architecture": "aarch64"}))
		arch := ""
		o := sandbox.Options{
			Env:   func(name string) string { return map[string]string{"DOCKER_HOST": host, docker.EnvImage: "i"}[name] },
			Hands: func(a string) (string, error) { arch = a; return "/bin/true", nil },
		}
		if err := docker.Registration.Usable(t.Context(), o); err != nil || arch != "arm64" {
			t.Errorf("API %s: %v, for %q", api, err, arch)
		}
		o.Hands = func(string) (string, error) { return "", missing }
		if err := docker.Registration.Usable(t.Context(), o); !errors.Is(err, missing) {
			t.Errorf("API %s, without the program: %v", api, err)
		}
	}
}
