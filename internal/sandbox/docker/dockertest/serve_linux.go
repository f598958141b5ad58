package dockertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// serve starts the engine as a PID namespace and with mounts of its own: when its first
// process ends, so does all that it started, and no mount is left. That process dies with
// the test's.
func (e *Engine) serve(path string) error {
	const script = `mount -t proc proc /proc && "$@"; exit $?`
	e.cmd = exec.Command("/bin/sh", append([]string{"-c", script, "dockerd", path}, e.args()...)...)
	e.cmd.Dir = e.dir
	// What the environment says of a proxy or of another engine is not for it.
	e.cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + e.dir, "TMPDIR=" + e.dir}
	out, err := os.OpenFile(e.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	e.cmd.Stdout, e.cmd.Stderr = out, out
	e.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	e.done = make(chan struct{})
	started := make(chan error)
	go func() { // the thread that starts it must live as long as it does
		runtime.LockOSThread()
		defer close(e.done)
		err := e.cmd.Start()
		started <- err
		if err == nil {
			_ = e.cmd.Wait()
		}
	}()
	return <-started
}

// removeGroups removes the empty cgroups that the containers had.
func removeGroups(name string) {
	for _, pattern := range []string{"/sys/fs/cgroup" + name, "/sys/fs/cgroup/*" + name} {
		tops, _ := filepath.Glob(pattern)
		for _, top := range tops {
			var all []string
			_ = filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.IsDir() {
					all = append(all, path)
				}
				return nil
			})
			for _, path := range slices.Backward(all) {
				_ = os.Remove(path)
			}
		}
	}
}
