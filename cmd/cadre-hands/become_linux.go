package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/hands"
)

// lastCapability bounds the kernel's capabilities; one that it does not know is no error here.
const lastCapability = 63

// become makes this process one of another user, UID:GID, and starts it anew: nothing of root
// is left in it, no capability and no descriptor.
func become(user string) error {
	var uid, gid int
	if _, err := fmt.Sscanf(user, "%d:%d", &uid, &gid); err != nil || uid <= 0 || gid <= 0 {
		return fault.New(fault.InvalidArgument, "BAD_USER", "%s=%s names no user: it is UID:GID, and neither is 0", hands.EnvUser, user)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
	runtime.LockOSThread() // capabilities are a thread's, and the one that starts the program anew keeps its own
	for c := range uintptr(lastCapability + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("give up capability %d: %w", c, err)
		}
	}
	header, no := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	for _, do := range []func() error{
		func() error { return syscall.Setgroups([]int{gid}) },
		func() error { return syscall.Setresgid(gid, gid, gid) },
		func() error { return syscall.Setresuid(uid, uid, uid) },
		func() error { return unix.Capset(&header, &no[0]) },
		func() error { return os.Unsetenv(hands.EnvUser) },
	} {
		if err := do(); err != nil {
			return fmt.Errorf("become the user %s: %w", user, err)
		}
	}
	return syscall.Exec(self, os.Args, os.Environ()) //nolint:gosec // this very program
}
