package scenario

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cadre-dev/cadre/test/built"
)

var update = flag.Bool("update", false, "write what commands print into the expectations of the scenarios")

func TestMain(m *testing.M) { built.Main(m) }

// TestScenarios plays testdata/*.txtar. Each has a data folder of its own and
// stops what it started; docs of the commands are in commands_test.go.
func TestScenarios(t *testing.T) {
	t.Parallel()
	binary := built.Binary(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setup(env, binary) },
		Condition:           condition,
		Cmds:                commands,
	})
}

// setup gives a scenario its environment and undoes at the end what it began.
func setup(env *testscript.Env, binary string) error {
	bin := filepath.Join(env.WorkDir, ".bin")
	if err := os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(binary, filepath.Join(bin, "cadre")); err != nil {
		return err
	}
	env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("CADRE_DATA", filepath.Join(env.WorkDir, "data"))
	env.Setenv("CADRE_LISTEN", "127.0.0.1:0")
	s := &state{work: env.WorkDir, jobs: map[string]*job{}}
	env.Values[stateKey{}] = s
	env.Defer(func() { s.end(env.T(), binary) })
	return nil
}

// end stops the jobs and servers of a scenario. Whatever panicked in one of them
// fails it: no output and no log holds a stack trace.
func (s *state) end(t testscript.T, binary string) {
	for _, j := range s.jobs {
		j.stop()
	}
	var trouble []string
	err := filepath.WalkDir(s.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		switch d.Name() {
		case "lock":
			cmd := exec.Command(binary, "down", "--data", filepath.Dir(path))
			cmd.Env = built.Environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				trouble = append(trouble, fmt.Sprintf("a server does not stop: %v\n%s", err, out))
			}
		case "server.log":
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "panic") {
				trouble = append(trouble, fmt.Sprintf("the log of a server holds a panic:\n%s", data))
			}
		}
		return nil
	})
	if err != nil {
		trouble = append(trouble, err.Error())
	}
	for _, undo := range s.undo {
		undo()
	}
	if len(trouble) > 0 {
		t.Fatal(strings.Join(trouble, "\n"))
	}
}

// condition knows what machines may lack.
func condition(name string) (bool, error) {
	switch name {
	case "readonly":
		return canBeReadOnly(), nil
	case "bwrap":
		return canSandbox(), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// canSandbox tells whether bubblewrap makes sandboxes on this machine. In CI it must.
func canSandbox() bool {
	return os.Getenv("CI") != "" || exec.Command("bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true").Run() == nil
}
