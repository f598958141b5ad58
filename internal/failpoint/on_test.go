//go:build failpoint && unix

package failpoint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// envChild makes the test's binary the process that is to be hurt.
const envChild = "FAILPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) == "" {
		m.Run()
		return
	}
	for range 3 {
		Hit("a.before")
		if err := Err("b"); err != nil {
			fmt.Fprintln(os.Stdout, "error:", err)
		}
		fmt.Fprintln(os.Stdout, "passed")
	}
	began := time.Now()
	fmt.Fprintln(os.Stdout, "hours:", Now().Sub(began).Round(time.Hour).Hours())
}

func child(t *testing.T, environ ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(environ, envChild+"=1")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// ended runs a child to its end; passes is how many rounds it made.
func ended(t *testing.T, environ ...string) (out, stderr string, passes int, state *os.ProcessState) {
	t.Helper()
	cmd, errs := child(t, environ...)
	data, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(data), errs.String(), strings.Count(string(data), "passed"), cmd.ProcessState
}

func TestKillEndsTheProcessAtTheHit(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	_, _, passes, state := ended(t, envPlaces+"=other=kill@1; a.before=kill@3", envLog+"="+log)
	if status := state.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %s", state)
	}
	if passes != 2 {
		t.Errorf("it made %d rounds, want 2", passes)
	}
	if data, err := os.ReadFile(log); err != nil || string(data) != "a.before 1\nb 1\na.before 2\nb 2\na.before 3\n" {
		t.Errorf("the log is %q (%v)", data, err)
	}
}

func TestStopStopsTheProcess(t *testing.T) {
	t.Parallel()
	cmd, _ := child(t, envPlaces+"=a.before=stop@2")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process is not stopped: %v, %v", status, err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	passes := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		passes += strings.Count(lines.Text(), "passed")
	}
	if err := cmd.Wait(); err != nil || passes != 3 {
		t.Errorf("once it went on it made %d rounds and ended with %v", passes, err)
	}
}

func TestErrorAndDelay(t *testing.T) {
	t.Parallel()
	began := time.Now()
	out, _, passes, state := ended(t, envPlaces+"=b=error@2;a.before=delay:20ms;b=delay:10ms@1")
	if passes != 3 || !state.Success() || strings.Count(out, "error:") != 1 || !strings.Contains(out, "error: failpoint b, hit 2") {
		t.Errorf("the process ended with %s and said %s", state, out)
	}
	if took := time.Since(began); took < 70*time.Millisecond {
		t.Errorf("three delays took %s, less than they last", took)
	}
}

func TestWhatIsNotUnderstoodEndsTheProcess(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"a.before", "a.before=", "=kill@1", "a.before=kill", "a.before=kill@0", "a.before=kill@x", "a.before=stop:1s@1", "a.before=delay", "a.before=delay:soon", "a.before=delay:-1s", "x=explode@1", "a.before=error@1"} {
		_, stderr, passes, state := ended(t, envPlaces+"="+bad)
		if state.ExitCode() != 2 || passes != 0 || !strings.Contains(stderr, envPlaces) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d after %d rounds: %s", bad, state.ExitCode(), passes, stderr)
		}
	}
}

func TestTheClockIsMoved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "offset")
	for content, want := range map[string]string{"72h\n": "hours: 72", "-48h": "hours: -48", "": "hours: 0"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, _, _, _ := ended(t, envOffset+"="+file); !strings.Contains(out, want+"\n") {
			t.Errorf("with %q it said %s", content, out)
		}
	}
	if out, _, _, _ := ended(t, envOffset+"="+file+"-missing"); !strings.Contains(out, "hours: 0\n") {
		t.Errorf("with no file it said %s", out)
	}
	if err := os.WriteFile(file, []byte("tomorrow"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, _, state := ended(t, envOffset+"="+file); state.ExitCode() != 2 || !strings.Contains(stderr, "no duration") {
		t.Errorf("exit %d: %s", state.ExitCode(), stderr)
	}
}

// The offset is read again when the file changed, in one process.
func TestTheClockFollowsTheFile(t *testing.T) {
	t.Parallel()
	c := &clock{file: filepath.Join(t.TempDir(), "offset")}
	for i, content := range []string{"1h", "", "2h30m"} {
		if err := os.WriteFile(c.file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.read(); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{time.Hour, time.Hour, 150 * time.Minute}[i]; c.offset != want {
			t.Errorf("after %q the offset is %s, want %s", content, c.offset, want)
		}
	}
}
