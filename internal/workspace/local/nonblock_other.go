//go:build !unix

package local

// nonblock has no meaning on this system.
const nonblock = 0
