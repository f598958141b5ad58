package app

import (
	"context"
	"os"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/standard"
)

// sandboxes reads how sandboxes are chosen; what is wrong with it stops the start before
// anything is touched.
func (a *App) sandboxes() (sandbox.Registration, lane.Settings, bool, error) {
	settings, err := lane.FromEnv(os.Getenv)
	if err != nil {
		return sandbox.Registration{}, settings, false, err
	}
	known, err := sandbox.NewRegistry(standard.Sandboxes(), nil)
	if err != nil {
		return sandbox.Registration{}, settings, false, err
	}
	driver, wanted, err := known.Select(os.Getenv(sandbox.EnvProvisioner))
	if err != nil {
		return driver, settings, wanted, err
	}
	return driver, settings, wanted, settings.Check(driver.Name)
}

// openLane opens the driver that the environment asks for. Without one there is no lane.
func (a *App) openLane(ctx context.Context) error {
	driver, settings, wanted, err := a.sandboxes()
	if err != nil || !wanted {
		return err
	}
	owner, err := a.ledgerID(ctx)
	if err != nil {
		return err
	}
	key, err := config.Key(a.opt.DataDir, config.RunTokenKey)
	if err != nil {
		return err
	}
	p, err := driver.Open(ctx, sandbox.Options{DataDir: a.opt.DataDir, Owner: owner, Env: os.Getenv, Log: a.log})
	if err != nil {
		return err
	}
	a.lane = lane.New(lane.Options{
		Provisioner: p, Settings: settings, Store: a.store, Log: a.log, Mint: &lane.RunTokens{Key: key, Now: failpoint.Now},
	})
	a.onClose("sandboxes", a.lane.Close)
	return nil
}
