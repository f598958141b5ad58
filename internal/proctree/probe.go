package proctree

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// probePatience bounds one try.
const probePatience = 10 * time.Second

// finding is what a probe found.
type finding struct {
	mode   Mode
	user   bool // the namespace needs a user namespace around it
	reason string
}

// Probe tells which mode works here, by a try, and why it is not Namespace.
func Probe() (mode Mode, reason string) {
	f := probe(context.Background())
	return f.mode, f.reason
}

func probe(ctx context.Context) finding {
	if len(spaces()) == 0 {
		return finding{mode: Group, reason: "this system (" + runtime.GOOS + ") has no PID namespaces; " + groupGap}
	}
	var why error
	for _, user := range spaces() {
		err := try(ctx, user)
		if err == nil {
			return finding{mode: Namespace, user: user}
		}
		why = err
	}
	return finding{mode: Group, reason: "a PID namespace cannot be made here (" + why.Error() + "); " + groupGap}
}

// try starts a command in a namespace and looks whether it is the first there.
func try(ctx context.Context, user bool) error {
	runtime.LockOSThread() // the command dies with the thread that started it
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, shellPath(), "-c", "echo $$")
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = namespaceAttr(user)
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(out)) != "1" {
		return errors.New("the system made none")
	}
	return nil
}
