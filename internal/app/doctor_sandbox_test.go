package app

import (
	"context"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// A driver that is asked for has to be usable; of another one it is only told.
func TestTheDoctorLooksAtDrivers(t *testing.T) {
	t.Parallel()
	broken := sandbox.Registration{Name: "broken", Usable: func(_ context.Context, o sandbox.Options) error {
		if o.DataDir == "" || o.Hands == nil || o.Env == nil {
			t.Errorf("it is asked with %+v", o)
		}
		return sandbox.ErrUnusable.Saying("the engine is not there")
	}}
	if f := checkDriver(t.Context(), broken, true); f.OK || !strings.Contains(f.Detail, "the engine is not there") || f.Advice == "" {
		t.Errorf("asked for, it is %+v", f)
	}
	if f := checkDriver(t.Context(), broken, false); !f.OK || !strings.Contains(f.Detail, "the engine is not there") {
		t.Errorf("not asked for, it is %+v", f)
	}
	fine := sandbox.Registration{Name: "fine", Usable: func(context.Context, sandbox.Options) error { return nil }}
	if f := checkDriver(t.Context(), fine, true); !f.OK || f.Check != "sandbox fine" || !strings.Contains(f.Detail, "usable") {
		t.Errorf("a good one is %+v", f)
	}
}

func TestTheDoctorLooksAtTheChoice(t *testing.T) { // not parallel: it sets the environment
	t.Setenv(sandbox.EnvProvisioner, "dokcer")
	all := checkSandboxes(t.Context())
	if all[0].OK || !strings.Contains(all[0].Detail, "docker") {
		t.Errorf("a slip of the pen is %+v", all[0])
	}
	t.Setenv(sandbox.EnvProvisioner, "")
	all = checkSandboxes(t.Context())
	if !all[0].OK || !strings.Contains(all[0].Detail, sandbox.EnvProvisioner) || len(all) < 2 {
		t.Errorf("without a choice it is %+v", all)
	}
}
