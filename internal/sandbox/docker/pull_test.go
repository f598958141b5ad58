package docker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
)

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

// registry serves one image, which it takes from the engine, and answers its address.
func registry(t *testing.T, w *world) string {
	t.Helper()
	blobs := map[string][]byte{}
	put := func(data []byte) string {
		sum := sha256.Sum256(data)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		blobs[digest] = data
		return digest
	}
	layer := exported(t, w)
	digest := put(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{}, "rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest}},
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": map[string]any{"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": put(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.docker.image.rootfs.diff.tar", "size": len(layer), "digest": digest}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch {
		case r.URL.Path == "/v2/":
		case strings.HasPrefix(r.URL.Path, "/v2/shell/manifests/"):
			out.Header().Set("Content-Type", manifestType)
			out.Header().Set("Docker-Content-Digest", put(manifest))
			_, _ = out.Write(manifest)
		case strings.HasPrefix(r.URL.Path, "/v2/shell/blobs/") && blobs[name] != nil:
			_, _ = out.Write(blobs[name])
		default:
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// exported is the content of the tests' image.
func exported(t *testing.T, w *world) []byte {
	t.Helper()
	made, err := w.engine.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: &container.Config{Image: imageName, Cmd: []string{"true"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = w.engine.Client.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{})
	}()
	r, err := w.engine.Client.ContainerExport(t.Context(), made.ID, client.ContainerExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	if _, err := io.Copy(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An image that the engine has not is pulled; one that cannot be is told with what the
// engine said and with the variable.
func TestPull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := registry(t, w)
	w.env[docker.EnvImage] = at + "/shell:7"
	p := w.open(t)
	ensure(t, p, session("ses_pull"), "")
	if got, _ := shell(t, w.inside(t, session("ses_pull")), "echo there"); got != "there" {
		t.Errorf("inside: %q", got)
	}
	_ = p.Close()

	w.env[docker.EnvImage] = at + "/none:1"
	p = w.open(t)
	defer func() { _ = p.Close() }()
	k := session("ses_none")
	err := p.EnsureSession(t.Context(), k.ID, sandbox.NewEnv("q", "", identity.User))
	refused(t, err, sandbox.ErrFailed, fmt.Sprintf("no image %s/none:1", at), docker.EnvImage)
	if state, err := p.Probe(t.Context(), k); state != sandbox.Absent || err != nil {
		t.Errorf("it is %s, %v", state, err)
	}
}
