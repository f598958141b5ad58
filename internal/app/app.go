// Package app assembles a server from the standard lists and runs it: what is
// opened, in which order, and how it ends.
//
// Order: data folder and lock, a try of the port, the end of processes that were
// left alive, keys, store, artifacts, search index, engine,
// takeover of what was left running, port. The bound port is the sign of
// readiness. The end is the other way round; the store closes last.
package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/cadre-dev/cadre/internal/artifact"
	authoperator "github.com/cadre-dev/cadre/internal/authz/operator"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/control"
	"github.com/cadre-dev/cadre/internal/discovery"
	"github.com/cadre-dev/cadre/internal/egress"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/identity/operator"
	"github.com/cadre-dev/cadre/internal/kind/organization"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/license"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/cassette"
	"github.com/cadre-dev/cadre/internal/model/catalogue"
	"github.com/cadre-dev/cadre/internal/model/limiter"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/reaper"
	"github.com/cadre-dev/cadre/internal/retention"
	"github.com/cadre-dev/cadre/internal/runner"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandboxes"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/server"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/bounded"
	"github.com/cadre-dev/cadre/internal/store/metered"
	"github.com/cadre-dev/cadre/internal/telemetry"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/usage"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// Options of a server. The zero value of a field means its default.
type Options struct {
	DataDir string // must be absolute
	Listen  string // checked by config.Listen
	Version string
	Engine  string // a name of standard.Engines. Default: the first
	// Ready is told where the server listens, once it does.
	Ready func(url string)
	// Note is told what a person should know of the start; nil for nobody.
	Note func(text string)
	// Stderr gets warnings beside the log file; nil for none.
	Stderr   io.Writer
	LogLevel slog.Level
	Timing   engine.Timing
	Turn     turn.Options
}

// App is an assembled server.
type App struct {
	opt      Options
	boot     string
	node     string       // this server's id, where several share the store
	shared   store.Shared // nil when the store has one server alone
	driver   string       // the store's
	ledger   string       // the database's id
	log      *slog.Logger
	lock     *config.Lock
	metrics  *telemetry.Metrics
	store    store.Store
	index    *search.Indexer
	artifact artifact.Store
	alone    bool // the engine works for this process alone
	engine   engine.Engine
	events   *eventlog.Log
	runner   *runner.Runner
	control  *control.Control
	models   *model.Registry
	known    *catalogue.Catalogue
	files    *server.Files
	lane     *lane.Lane // nil without sandboxes
	lines    *lane.Lines
	// driverName and provisioner are the sandboxes'; "" and nil without.
	driverName  string
	provisioner sandbox.Provisioner
	reaping     reaper.Settings
	egress      egress.List    // that sandboxes may reach
	reaper      *reaper.Reaper // nil without leases
	tools       *toolbox
	host        *local.Host
	deps        pipeline.Deps
	verbs       []pipeline.Verb
	dispatch    *server.Dispatcher
	server      *server.Server
	listener    net.Listener
	started     time.Time
	age         time.Duration // of events that retention removes; 0 for never
	closers     []closer
}

// closer undoes one step of the start.
type closer struct {
	name string
	do   func(context.Context) error
}

// shutdownTime bounds an orderly end.
const shutdownTime = 10 * time.Second

// Serve runs a server until ctx ends.
func Serve(ctx context.Context, o Options) error {
	a := &App{opt: o, boot: id.New("boot"), started: time.Now()}
	defer a.close()
	steps := []func(context.Context) error{
		a.settings, a.openFolder, a.probe, a.openProcesses, a.openStore, a.openSearch, a.openLane, a.openEngine, a.assemble, a.firstStart, a.takeOver, a.retain, a.reap, a.listen,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return a.serve(ctx)
}

func (a *App) onClose(name string, do func(context.Context) error) {
	a.closers = append(a.closers, closer{name, do})
}

// close undoes the start, the last step first.
func (a *App) close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	for _, c := range slices.Backward(a.closers) {
		if err := c.do(ctx); err != nil && a.log != nil {
			a.log.Error("part did not close", "part", c.name, "error", err)
		}
	}
}

// settings reads what must be right before anything is touched.
func (a *App) settings(context.Context) (err error) {
	if a.opt.Turn.Recovery.Delays == nil {
		if a.opt.Turn.Recovery.Delays, err = turn.Delays(os.Getenv); err != nil {
			return err
		}
	}
	if _, _, _, err = a.sandboxes(); err != nil {
		return err
	}
	if a.reaping, err = reaper.FromEnv(os.Getenv); err != nil {
		return err
	}
	if a.egress, err = egress.Parse(os.Getenv(egress.Env)); err != nil {
		return err
	}
	if a.opt.Turn.StreamIdle == 0 {
		if a.opt.Turn.StreamIdle, err = turn.Idle(os.Getenv, turn.EnvStreamIdle); err != nil {
			return err
		}
	}
	if a.opt.Turn.ContentIdle == 0 {
		if a.opt.Turn.ContentIdle, err = turn.Idle(os.Getenv, turn.EnvContentIdle); err != nil {
			return err
		}
	}
	a.age, err = retention.Age(os.Getenv)
	return err
}

func (a *App) openFolder(context.Context) error {
	if err := config.Prepare(a.opt.DataDir); err != nil {
		return err
	}
	lock, err := config.Acquire(a.opt.DataDir)
	if err != nil {
		return err
	}
	a.lock = lock
	a.onClose("lock", func(context.Context) error { return lock.Release() })
	log, file, err := telemetry.Open(a.opt.DataDir, a.opt.LogLevel, a.opt.Stderr)
	if err != nil {
		return err
	}
	a.log = log.With("boot", a.boot)
	a.onClose("log", func(context.Context) error {
		a.log.Info("server stopped")
		return file.Close()
	})
	a.log.Info("server starts", "version", a.opt.Version, "pid", os.Getpid(), "data", a.opt.DataDir)
	return nil
}

func (a *App) openStore(ctx context.Context) error {
	driver := standard.Store(os.Getenv)
	if err := intact(a.opt.DataDir, driver); err != nil {
		return err
	}
	if err := a.saveBeforeMigration(ctx, driver); err != nil {
		return err
	}
	s, err := driver.Open(ctx, standard.StoreOptions{DataDir: a.opt.DataDir, Env: os.Getenv, Log: a.log})
	if err != nil {
		return err
	}
	a.onClose("store", func(context.Context) error { return s.Close() })
	a.driver = driver.Name
	told, err := remember(ctx, a.opt.DataDir, driver, s)
	if err != nil {
		return err
	}
	a.note(told)
	if a.store, err = a.decorated(s); err != nil {
		return err
	}
	if err := a.openShared(); err != nil {
		return err
	}
	a.events = eventlog.New(a.store)
	a.store.OnCommit(a.events.Publish)
	if a.artifact, err = standard.Artifacts()[0].Open(ctx, a.opt.DataDir); err != nil {
		return err
	}
	a.onClose("artifacts", func(context.Context) error { return a.artifact.Close() })
	return nil
}

// decorated is a store with measurements, within bounds.
func (a *App) decorated(s store.Store) (store.Store, error) {
	var err error
	if a.metrics, err = telemetry.NewMetrics(); err != nil {
		return nil, err
	}
	a.onClose("metrics", a.metrics.Close)
	return metered.New(bounded.New(s, bounded.Options{}), a.driver, a.metrics.Meters(), otel.GetTracerProvider())
}

func (a *App) openEngine(ctx context.Context) error {
	all := standard.Engines()
	i := slices.IndexFunc(all, func(d standard.EngineDriver) bool { return a.opt.Engine == "" || d.Name == a.opt.Engine })
	if i < 0 {
		return fmt.Errorf("there is no engine named %q", a.opt.Engine)
	}
	a.opt.Engine = all[i].Name
	var err error
	if a.alone, err = alone(all[i], os.Getenv); err != nil {
		return err
	}
	ledger, err := a.ledgerID(ctx)
	a.ledger = ledger
	if err != nil {
		return err
	}
	a.engine, err = all[i].New(standard.EngineOptions{DataDir: a.opt.DataDir, Ledger: ledger, Env: os.Getenv, Timing: a.opt.Timing, Log: a.log})
	return err
}

// envDispatch says how turns begin: direct, right after their input was accepted where
// the engine works for this process alone, or engine, always by way of it.
const envDispatch = "CADRE_DISPATCH"

// alone tells whether turns may begin without asking the engine.
func alone(d standard.EngineDriver, env func(string) string) (bool, error) {
	switch word := env(envDispatch); word {
	case "", "direct":
		return d.Alone != nil && d.Alone(env), nil
	case "engine":
		return false, nil
	default:
		return false, fault.New(fault.InvalidArgument, "BAD_ENGINE_SETTING", "%s=%s is not known: write direct or engine", envDispatch, word)
	}
}

// ledgerID tells this database from others on an engine that they share. It is
// made once.
func (a *App) ledgerID(ctx context.Context) (string, error) {
	const key = "ledger_id"
	return a.store.InitBootState(ctx, key, id.New("led"))
}

// assemble makes everything that is not opened: runner, control, verbs, server.
func (a *App) assemble(ctx context.Context) error {
	owner, err := a.grantOwner(ctx)
	if err != nil {
		return err
	}
	if a.models, err = model.NewRegistry(standard.Models(), os.Getenv); err != nil {
		return err
	}
	if a.known, err = catalogue.Open(a.opt.DataDir, os.Getenv); err != nil {
		return err
	}
	if a.tools, err = newToolbox(standard.Tools(), os.Getenv); err != nil {
		return err
	}
	world := &runner.World{
		Store: a.store, Models: a.models, Catalogue: a.known, Limiter: limiter.New(limiter.Options{}), Record: cassette.Record, Tools: a.tools.Tool, Open: a.host.Open, End: a.host.End, Sandboxes: a.lane.Leases(), Artifact: a.artifact,
		Events: a.events, Clock: failpoint.Now, SlogTurns: a.log,
	}
	a.runner = runner.New(runner.Options{Store: a.store, Effects: world, BootEpoch: a.boot, Node: a.node, Turn: a.opt.Turn, Heartbeat: a.opt.Timing.Heartbeat, Sandboxes: a.lane.Hands(), Log: a.log})
	a.control = control.New(control.Options{Store: a.store, Engine: a.engine, Runner: a.runner, End: world.EndProcesses, BootEpoch: a.boot, Node: a.node, Shared: a.shared, Direct: a.alone, Now: failpoint.Now, Log: a.log})
	a.files = server.NewFiles(a.artifact, time.Now)
	if err := a.dispatcher(owner); err != nil {
		return err
	}
	a.server, err = server.New(server.Options{Dispatcher: a.dispatch, Health: a.health, Metrics: a.metrics.Handler(), Files: a.files, Log: a.log})
	return err
}

// dispatcher makes the verbs of every kind and what takes requests to them. The owner
// may use them.
func (a *App) dispatcher(owner string) error {
	validator, err := pipeline.NewValidator()
	if err != nil {
		return err
	}
	key, err := a.digestKey()
	if err != nil {
		return err
	}
	verifier, err := operator.Open(a.opt.DataDir)
	if err != nil {
		return err
	}
	a.deps = pipeline.Deps{
		Store: a.store, Authz: authoperator.New(owner), Validator: validator, Log: a.events, Models: a.models, Tools: a.tools,
		Catalogue: a.known, Artifacts: a.artifact, Link: a.files.Link, Lane: a.lane,
		Search: search.NewFinder(a.index), Now: failpoint.Now, Wake: a.control.Wake, Tell: a.runner.Cancel, Stalled: a.control.Stalled, Processes: processes{a.host, a.lane.Leases(), a.log},
		BodyDigest: func(body []byte) string {
			mac := hmac.New(sha256.New, key)
			mac.Write(body)
			return hex.EncodeToString(mac.Sum(nil))
		},
	}
	var kinds []string
	for _, k := range standard.Kinds() {
		a.verbs = append(a.verbs, pipeline.Standard(a.deps, k)...)
		kinds = append(kinds, k.Name())
	}
	a.verbs = append(a.verbs, usage.Verbs(a.deps)...)
	a.verbs = append(a.verbs, usage.BudgetVerbs(a.deps)...)
	a.verbs = append(a.verbs, discovery.Verbs(a.deps)...)
	a.verbs = append(a.verbs, sandboxes.Verbs(a.deps, a.sandboxService())...)
	a.verbs = append(a.verbs, server.ModelsVerb(a.deps, a.known), server.InfoVerb(server.Facts{
		Version: a.opt.Version, BootID: a.boot, StartedAt: a.started, Kinds: kinds, Providers: a.models.Names(), Tools: a.tools.Names(),
		Store: a.driver, Engine: a.opt.Engine, Notices: a.control.Notices,
	}, a.health), server.LicenseVerb(a.deps, license.Absent{}, a.log))
	a.dispatch, err = server.NewDispatcher(a.verbs, []identity.Verifier{verifier}, validator, a.log)
	return err
}

// firstStart creates the default organization, once.
func (a *App) firstStart(ctx context.Context) error {
	k := organization.Kind()
	m := organization.Default()
	_, err := a.store.Get(ctx, k.Kind, m.GetMetadata().GetSlug())
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	stampDefault(m.GetMetadata(), time.Now())
	if err := a.store.Create(ctx, pipeline.RowOf(k, m), nil); !errors.Is(err, store.ErrExists) { // another server may be faster
		return err
	}
	return nil
}

// takeOver starts the engine and continues what a predecessor left.
func (a *App) takeOver(ctx context.Context) error {
	if err := a.join(ctx); err != nil {
		return err
	}
	if err := a.control.Inherit(ctx); err != nil {
		return err
	}
	a.onClose("engine", a.engine.Stop)
	if err := a.engine.Start(context.WithoutCancel(ctx), a.control); err != nil {
		return err
	}
	a.onClose("control", func(context.Context) error { a.control.Stop(); return nil })
	return a.control.Start(ctx)
}

// retain removes what is old in the background, when an age is set.
func (a *App) retain(ctx context.Context) error {
	if a.age == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	w := retention.New(retention.Options{Store: a.store, Age: a.age, Owner: a.boot, Now: failpoint.Now, Log: a.log})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	a.onClose("retention", func(context.Context) error {
		cancel()
		<-done
		return nil
	})
	return nil
}

// health says what is wrong now.
func (a *App) health(ctx context.Context) []string {
	var reasons []string
	if err := a.store.Health(ctx); err != nil {
		reasons = append(reasons, "store: "+err.Error())
	}
	if err := a.engine.Health(ctx); err != nil {
		reasons = append(reasons, "engine: "+err.Error())
	} else if err := a.control.Refusal(); err != nil {
		reasons = append(reasons, "engine: "+err.Error())
	}
	return reasons
}

// toolbox finds tools by name.
type toolbox struct {
	names  []string
	byName map[string]tool.Tool
}

func newToolbox(all []tool.Registration, env func(string) string) (*toolbox, error) {
	b := &toolbox{byName: map[string]tool.Tool{}}
	for _, r := range all {
		if b.byName[r.Name] != nil {
			return nil, fmt.Errorf("the tool %s is registered twice", r.Name)
		}
		t, err := r.New(env)
		if err != nil {
			return nil, fmt.Errorf("the tool %s: %w", r.Name, err)
		}
		b.byName[r.Name] = t
		b.names = append(b.names, r.Name)
	}
	return b, nil
}

// Tool finds one.
func (b *toolbox) Tool(name string) (tool.Tool, bool) {
	t, ok := b.byName[name]
	return t, ok
}

// Names are all names, in the order of the list.
func (b *toolbox) Names() []string { return slices.Clone(b.names) }
