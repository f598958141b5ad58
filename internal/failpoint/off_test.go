//go:build !failpoint

package failpoint_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/failpoint"
)

// The normal build pays nothing: the compiler replaces each call by its body, which
// is empty.
func TestWithoutTheTagACallIsInlined(t *testing.T) {
	t.Parallel()
	if failpoint.On {
		t.Fatal("the normal build has failpoints")
	}
	if err := failpoint.Err("any"); err != nil {
		t.Fatal(err)
	}
	out := run(t, "build", "-gcflags=-m", ".")
	for _, want := range []string{"can inline Hit", "can inline Err", "can inline Now"} {
		if !strings.Contains(out, want) {
			t.Errorf("the compiler does not say %q:\n%s", want, out)
		}
	}
}

// The rest is tested with the tag: the tests of such a build run here, so that a
// plain `go test` covers them.
func TestWithTheTag(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" || runtime.GOOS == "plan9" {
		t.Skip("failpoints need the signals of Unix")
	}
	if out := run(t, "test", "-count=1", "-tags", "failpoint", "."); !strings.HasPrefix(out, "ok") {
		t.Errorf("with the tag no test ran:\n%s", out)
	}
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
