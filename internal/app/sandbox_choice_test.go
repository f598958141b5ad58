package app

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// The server of `cadre test` keeps nothing, and has its tools work in the folders that the tests
// give it, whatever the environment says.
func TestToolsStayOnThisMachine(t *testing.T) { // not parallel: it sets the environment
	t.Setenv(sandbox.EnvProvisioner, "docker")
	for _, here := range []bool{false, true} {
		a := &App{opt: Options{OnThisMachine: here}}
		if _, _, wanted, err := a.sandboxes(); err != nil || wanted == here {
			t.Errorf("on this machine %t: sandboxes are wanted: %t, %v", here, wanted, err)
		}
	}
}
