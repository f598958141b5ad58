//go:build !linux

package scenario

// makeReadOnly makes a folder that only the superuser can write to.
func makeReadOnly(dir string) (undo func(), err error) { return checkMode(dir) }
