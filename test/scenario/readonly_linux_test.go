package scenario

import (
	"os"
	"syscall"
)

// makeReadOnly makes a folder that nobody can write to: by its mode, and for the
// superuser by a read-only file system in its place.
func makeReadOnly(dir string) (undo func(), err error) {
	if os.Geteuid() != 0 {
		return checkMode(dir)
	}
	if err := syscall.Mount("cadre-test", dir, "tmpfs", syscall.MS_RDONLY, "size=64k"); err != nil {
		return nil, err
	}
	return func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }, nil
}
