package sandboxtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
)

// The fake keeps what drivers promise, so that what is tested with it holds.
func TestFake(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, func(*testing.T) sandboxtest.Subject {
		world := &sandboxtest.World{}
		return sandboxtest.Subject{
			Outlives: true,
			Open:     func(*testing.T) sandbox.Provisioner { return &sandboxtest.Fake{World: world} },
			Instances: func(_ *testing.T, k sandbox.Key) int {
				if b := world.Box(k); b != nil && b.State == sandbox.Running {
					return 1
				}
				return 0
			},
			Write: func(_ *testing.T, k sandbox.Key, name, text string) { world.Box(k).Files[name] = text },
			Read: func(_ *testing.T, k sandbox.Key, name string) (string, bool) {
				b := world.Box(k)
				if b == nil {
					return "", false
				}
				text, ok := b.Files[name]
				return text, ok
			},
		}
	})
}

// The fake fails on command, and C41: a composed driver reads the class of the caller, and
// may make what a guest gets keep nothing.
func TestFakeOnCommand(t *testing.T) {
	t.Parallel()
	broken := errors.New("no free node")
	f := sandboxtest.NewFake()
	f.Fail = func(c sandboxtest.Call) error {
		if c.Env.Class() == "guest" {
			return broken
		}
		return nil
	}
	ctx := context.Background()
	if err := f.EnsureSession(ctx, "s", sandbox.NewEnv("session:s", "", "guest")); !errors.Is(err, broken) {
		t.Errorf("a guest: %v", err)
	}
	if err := f.EnsureSession(ctx, "s", sandbox.NewEnv("session:s", "t", identity.User)); err != nil {
		t.Errorf("a user: %v", err)
	}
	calls := f.Calls()
	if len(calls) != 2 || calls[0].Env.Class() != "guest" || calls[1].Env != sandbox.NewEnv("session:s", "t", identity.User) {
		t.Errorf("it was called so: %+v", calls)
	}
}
