//go:build !linux

package main

import "github.com/cadre-dev/cadre/internal/fault"

// become is for sandboxes, which are Linux's.
func become(string) error {
	return fault.New(fault.Unimplemented, "NOT_BUILT", "only on Linux does this program become another user")
}
