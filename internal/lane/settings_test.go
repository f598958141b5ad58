package lane_test

import (
	"errors"
	"strings"
	"testing"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/lane"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	usual, err := lane.FromEnv(env())
	if want := (lane.Settings{Target: sessionv1.ExecutionTarget_local}); usual != want || err != nil {
		t.Errorf("the default is %+v, %v", usual, err)
	}
	all, err := lane.FromEnv(env(lane.EnvPlacement, "runner", lane.EnvSessionRouting, "session", lane.EnvWorkflowRouting, "execution", lane.EnvTarget, "cloud"))
	if want := (lane.Settings{InSandbox: true, PerSession: true, PerExecution: true, Target: sessionv1.ExecutionTarget_cloud}); all != want || err != nil {
		t.Errorf("all is %+v, %v", all, err)
	}
	for _, name := range []string{lane.EnvPlacement, lane.EnvSessionRouting, lane.EnvWorkflowRouting, lane.EnvTarget} {
		_, err := lane.FromEnv(env(name, "elsewhere"))
		if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), name+"=elsewhere") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// C43: a provisioner in placement runner without a lane of its own for anything is refused.
func TestCoherence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provisioner string
		s           lane.Settings
		refused     bool
	}{
		{"docker", lane.Settings{InSandbox: true}, true},
		{"docker", lane.Settings{InSandbox: true, PerSession: true}, false},
		{"docker", lane.Settings{InSandbox: true, PerExecution: true}, false},
		{"docker", lane.Settings{}, false}, // placement hands needs no routing
		{"", lane.Settings{InSandbox: true}, false},
	} {
		err := c.s.Check(c.provisioner)
		var f *fault.Fault
		if errors.As(err, &f) != c.refused || c.refused && (f.Reason != "SANDBOX_ROUTING_INCOHERENT" || !strings.Contains(f.Message, "docker")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
