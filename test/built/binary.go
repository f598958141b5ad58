// Package built gives tests of the whole the binary that users get, and servers
// that run it. It builds the binary once, unless CADRE_BIN names one, and
// promises that every process it started has ended when the tests have.
//
// It imports no assembly, so that a test package that uses it links no engine.
package built

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofrs/flock"
)

// These name binaries to test instead of new ones: the one that users get, and the
// one with failpoints.
const (
	envBinary     = "CADRE_BIN"
	envFailpoints = "CADRE_FAILPOINT_BIN"
)

// parallel is how many tests run at once by default. They mostly wait for
// servers, so that there may be more of them than processors.
const parallel = "6"

// atEnd is what Main undoes.
var atEnd struct {
	sync.Mutex
	all []func()
}

// AtEnd has Main call f when all tests of the package have run.
func AtEnd(f func()) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.all = append(atEnd.all, f)
}

// Main runs the tests of a package that uses this one. Call it from TestMain.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", parallel); err != nil { // before the flags are parsed, so that -parallel wins
		panic(err)
	}
	m.Run()
	atEnd.Lock()
	defer atEnd.Unlock()
	for _, f := range atEnd.all {
		f()
	}
}

// Binary is the path of the binary to test.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Failpoints is the path of a binary that ends, stops or fails where the
// environment says; see internal/failpoint.
func Failpoints(t testing.TB) string {
	t.Helper()
	path, err := failpoints()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	binary     = sync.OnceValues(func() (string, error) { return obtain(envBinary, "cadre") })
	failpoints = sync.OnceValues(func() (string, error) { return obtain(envFailpoints, "cadre-failpoints", "-tags", "failpoint") })
)

// obtain answers the binary that the environment names, or builds it.
func obtain(env, name string, flags ...string) (string, error) {
	if named := os.Getenv(env); named != "" {
		path, err := filepath.Abs(named)
		if err != nil {
			return "", err
		}
		_, err = os.Stat(path)
		return path, err
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	if err := look(root); err != nil {
		return "", err
	}
	return build(root, name, flags)
}

// Root is the folder of the module.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, serr := os.Stat(filepath.Join(dir, "go.mod")); serr == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// look reads the folders of the binary's sources. `go test` keeps the results of
// tests whose inputs did not change, and what a test looks at is an input.
func look(root string) error {
	for _, dir := range []string{"cmd", "gen", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	_, err := os.ReadFile(filepath.Join(root, "go.sum"))
	return err
}

// build makes the binary in a place that all test packages share, so that only
// the first of them links it, and takes a copy that nobody replaces.
func build(root, name string, flags []string) (string, error) {
	own, err := os.MkdirTemp("", "cadre-built-*")
	if err != nil {
		return "", err
	}
	AtEnd(func() { _ = os.RemoveAll(own) })
	path := filepath.Join(own, name)
	shared := filepath.Join(root, ".cache", "test")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return path, compile(root, path, flags) // a tree that cannot be written to
	}
	lock := flock.New(filepath.Join(shared, "lock"))
	if err := lock.Lock(); err != nil {
		return path, compile(root, path, flags)
	}
	defer func() { _ = lock.Unlock() }()
	made := filepath.Join(shared, name)
	if err := compile(root, made, flags); err != nil {
		return "", err
	}
	if os.Link(made, path) == nil {
		return path, nil
	}
	return path, duplicate(made, path)
}

func compile(root, path string, flags []string) error {
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/cadre")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the binary cannot be built: %w\n%s", err, out)
	}
	return nil
}

func duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
