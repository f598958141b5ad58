//go:build !linux

package chaos

import (
	"errors"
	"testing"
)

func mountSmall(string, string) error { return errors.ErrUnsupported }

func unmountSmall(*testing.T, string) {}
