package built

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Environ is the environment of processes under test: this one's, without what
// would lead them to servers, folders or keys of the person who runs the tests.
func Environ() []string {
	var kept []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "CADRE_") && !strings.HasSuffix(name, "_API_KEY") && !strings.HasSuffix(name, "_BASE_URL") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Result is what a command came to.
type Result struct {
	Out, Err string
	Code     int
}

// Command is a command of the server's own command line in a folder. The test's
// end kills it.
func (s *Server) Command(t testing.TB, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), s.binary, args...)
	cmd.Dir = dir
	cmd.Env = append(append(Environ(), s.Env...), "CADRE_DATA="+s.Data)
	return cmd
}

// Run runs a command to its end.
func (s *Server) Run(t testing.TB, dir string, args ...string) Result {
	t.Helper()
	cmd := s.Command(t, dir, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Result{Out: out.String(), Err: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// MustRun is Run for commands that must succeed; it answers what they printed.
func (s *Server) MustRun(t testing.TB, dir string, args ...string) string {
	t.Helper()
	r := s.Run(t, dir, args...)
	if r.Code != 0 {
		t.Fatalf("cadre %s: exit %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Err)
	}
	return r.Out
}
