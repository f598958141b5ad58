//go:build unix

package local

import "syscall"

// nonblock keeps an open from waiting for a pipe's other end.
const nonblock = syscall.O_NONBLOCK
