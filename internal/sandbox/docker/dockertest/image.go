package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"
)

// Program is a static program that is a shell and its tools under many names.
const Program = "/bin/busybox"

// rootfs is an image's content: the program under all its names.
var rootfs = sync.OnceValues(func() ([]byte, error) {
	if err := static(Program); err != nil {
		return nil, fmt.Errorf("the images of tests need a static %s: %w; install the package busybox-static", Program, err)
	}
	data, err := os.ReadFile(Program)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(Program, "--list").Output()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var errs []error
	add := func(h tar.Header, content string) {
		h.Size = int64(len(content))
		_, err := w, w.WriteHeader(&h)
		errs = append(errs, err)
		_, err = io.WriteString(w, content)
		errs = append(errs, err)
	}
	for _, dir := range []string{"bin", "etc", "usr", "usr/bin"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}, "")
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: Program[1:], Mode: 0o755}, string(data))
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: Program}, "")
		}
	}
	add(tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/env", Linkname: Program}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, "root:x:0:0::/:/bin/sh\n")
	errs = append(errs, w.Close())
	return b.Bytes(), errors.Join(errs...)
})

// static refuses a program that needs a loader.
func static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it is not static")
		}
	}
	return nil
}

// Image makes an image of a name in the engine, with a shell and its tools; changes are
// lines of a Dockerfile, such as `USER 0`. It answers the image's id.
func (e *Engine) Image(t testing.TB, name string, changes ...string) string {
	t.Helper()
	id, err := e.load(t.Context(), name, changes)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (e *Engine) load(ctx context.Context, name string, changes []string) (string, error) {
	content, err := rootfs()
	if err != nil {
		return "", err
	}
	r, err := e.Client.ImageImport(ctx, client.ImageImportSource{Source: bytes.NewReader(content), SourceName: "-"}, name,
		client.ImageImportOptions{Changes: changes})
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return "", err
	}
	found, err := e.Client.ImageInspect(ctx, name)
	return found.ID, err
}
