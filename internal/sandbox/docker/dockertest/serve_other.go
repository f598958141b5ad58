//go:build !linux

package dockertest

import "fmt"

func (e *Engine) serve(string) error {
	return fmt.Errorf("%w on this system; set %s", errNone, EnvHost)
}

func removeGroups(string) {}
