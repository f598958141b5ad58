package chaos

import (
	"syscall"
	"testing"
)

func mountSmall(dir, size string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size) }

func unmountSmall(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
		t.Error(err)
	}
}
