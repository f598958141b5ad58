package app

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/egress"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/handsbin"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/netguard"
	"github.com/cadre-dev/cadre/internal/reaper"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandboxes"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
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
	a.lines = a.openLines()
	p, err := driver.Open(ctx, sandbox.Options{DataDir: a.opt.DataDir, Owner: owner, Env: os.Getenv, Log: a.log, Hands: handsbin.New(filepath.Join(a.opt.DataDir, "hands"), os.Getenv).File, Lines: a.lines})
	if err != nil {
		return err
	}
	a.driverName = driver.Name
	a.startLane(p, settings, &lane.RunTokens{Key: key, Now: failpoint.Now})
	return nil
}

// linesFolder holds the sockets of sandboxes, below the data folder.
const linesFolder = "lines"

// openLines makes the server's ends of sandboxes.
func (a *App) openLines() *lane.Lines {
	lines := lane.NewLines(filepath.Join(a.opt.DataDir, linesFolder), func(l net.Listener) lane.Line { return remote.Listen(l, 0) })
	if !a.egress.Empty() {
		out := &egress.Proxy{List: a.egress, Guard: &netguard.Guard{}, Log: a.log}
		lines.Proxy = func(k sandbox.Key, l net.Listener) { out.Serve(l, k.String()) }
	}
	a.onClose("lines", func(context.Context) error { return lines.Close() })
	return lines
}

// onlyNode is the node of leases where the store has one server alone.
const onlyNode = "local"

// startLane puts the lane together: in placement hands with the leases of sandboxes.
func (a *App) startLane(p sandbox.Provisioner, settings lane.Settings, mint lane.Mint) {
	var leases *lane.Leases
	if !settings.InSandbox {
		leases = lane.NewLeases(lane.LeaseOptions{
			Provisioner: p, Line: a.lines.Line, Store: a.store, Node: a.leaseNode(), Boot: a.boot, Now: failpoint.Now, Log: a.log,
		})
		a.reaper = reaper.New(reaper.Options{
			Settings: a.reaping, Store: a.store, Driver: p, Leases: leases, Node: a.leaseNode(), Now: failpoint.Now, Log: a.log,
		})
	}
	a.provisioner = p
	a.lane = lane.New(lane.Options{Provisioner: p, Settings: settings, Store: a.store, Log: a.log, Mint: mint, Leases: leases})
	a.onClose("sandboxes", a.lane.Close)
}

// leaseNode is this server as the leases of sandboxes name it.
func (a *App) leaseNode() string { return cmp.Or(a.node, onlyNode) }

// reap stops sandboxes that nobody uses, in the background.
func (a *App) reap(ctx context.Context) error {
	if a.reaper == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.reaper.Run(ctx)
	}()
	a.onClose("reaper", func(context.Context) error {
		cancel()
		<-done
		return nil
	})
	return nil
}

// sandboxService is what the operator's view of sandboxes works with.
func (a *App) sandboxService() sandboxes.Options {
	o := sandboxes.Options{Driver: a.driverName, Provisioner: a.provisioner, Leases: a.lane.Leases(), Node: a.leaseNode(), Alone: a.node == ""}
	if a.lines != nil {
		o.Connected = func(k sandbox.Key) bool {
			line := a.lines.Line(k)
			return line != nil && line.Connected()
		}
	}
	if a.reaper != nil {
		o.Collect = func(ctx context.Context) (stopped, removed []sandbox.Key, failed []error) {
			sum := a.reaper.Pass(ctx)
			return sum.Stopped, sum.Removed, sum.Failed
		}
	}
	return o
}
