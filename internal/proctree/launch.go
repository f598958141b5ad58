package proctree

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// markerName is the variable that members carry.
const markerName = "CADRE_TREE"

// The first process of a tree waits at the gate, descriptor 3, until the record
// is in place; when the server dies before, the gate's end ends it. Its arguments
// are the command line, the shell and the value of BASH_ENV, which is meant for
// the command and not for this script. Its own standard error is dropped: what it
// says is not the command's output.

// groupInit becomes the user's shell, so that its status comes from the kernel.
const groupInit = `set +eux
read -r go <&3 || exit 125
exec 3<&-
[ -z "$3" ] || export BASH_ENV="$3"
exec "$2" -c "$1" 2>&1`

// namespaceInit runs the user's shell as a child, since the first process of a
// namespace ignores signals that others die of. What it says about the shell's
// end goes to the status pipe, descriptor 4. Then it waits for the server to close
// the gate, so that others may use the rest of a time of grace.
const namespaceInit = `set +eux
PATH=/usr/sbin:/usr/bin:/sbin:/bin mount -t proc proc /proc >/dev/null
read -r go <&3 || exit 125
[ -z "$3" ] || export BASH_ENV="$3"
exec 2>&4
"$2" -c "$1" 2>&1 3<&- 4>&-
echo "status $?" >&4
read -r go <&3
exit 0`

// shellPath is the interpreter of the scripts above and the default of Spec.Shell.
func shellPath() string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// command builds the first process of a tree. status is nil in mode Group.
func command(script string, s Spec, marker string, attr *syscall.SysProcAttr, output, gate, status *os.File) *exec.Cmd {
	line, shell := s.Line, s.Shell
	if shell == "" {
		shell = shellPath()
	}
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // else the shell reads it as an option
	}
	env, bashEnv := environment(s.Env, marker)
	cmd := exec.Command(shellPath(), "-c", script, "sh", line, shell, bashEnv)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.Dir, env, attr
	cmd.Stdout = output
	cmd.ExtraFiles = []*os.File{gate}
	if status != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, status)
	}
	return cmd
}

// environment is the user's with our marker. BASH_ENV is told apart.
func environment(user []string, marker string) (env []string, bashEnv string) {
	env = slices.DeleteFunc(slices.Clone(user), func(v string) bool {
		if value, found := strings.CutPrefix(v, "BASH_ENV="); found {
			bashEnv = value
			return true
		}
		return strings.HasPrefix(v, markerName+"=")
	})
	return append(env, markerName+"="+marker), bashEnv
}

// exitOf reads the status of a process that the server has waited for.
func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return signalled(status.Signal())
	}
	return Exit{Code: state.ExitCode()}
}

// exitIn reads the code that a shell reported about its child. said tells that
// it also printed a message about the child's death.
func exitIn(code int, said, bash bool) Exit {
	sig := syscall.Signal(code - 128)
	_, known := signalNames[sig]
	// Bash prints nothing about these two; other shells print nothing at all.
	silent := !bash || sig == syscall.SIGINT || sig == syscall.SIGPIPE
	if code > 128 && known && (said || silent) {
		return signalled(sig)
	}
	return Exit{Code: code}
}

func signalled(sig syscall.Signal) Exit {
	name, known := signalNames[sig]
	if !known {
		name = sig.String()
	}
	return Exit{Code: 128 + int(sig), Signal: name}
}

// signalNames are the signals that end a process.
var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
	syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
	syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGPROF: "SIGPROF", syscall.SIGIO: "SIGIO",
	syscall.SIGSYS: "SIGSYS",
}
