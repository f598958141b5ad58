// Package standard is the lists of what a cadre is made of. To add a kind, a
// tool, a model provider or a driver: write its folder, add its line here.
package standard

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/artifact/folder"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/memory"
	"github.com/cadre-dev/cadre/internal/engine/temporal"
	"github.com/cadre-dev/cadre/internal/kind/agent"
	"github.com/cadre-dev/cadre/internal/kind/agentexecution"
	kindartifact "github.com/cadre-dev/cadre/internal/kind/artifact"
	"github.com/cadre-dev/cadre/internal/kind/organization"
	"github.com/cadre-dev/cadre/internal/kind/session"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/anthropic"
	"github.com/cadre-dev/cadre/internal/model/gemini"
	"github.com/cadre-dev/cadre/internal/model/openai"
	"github.com/cadre-dev/cadre/internal/model/openai/chat"
	"github.com/cadre-dev/cadre/internal/model/replay"
	"github.com/cadre-dev/cadre/internal/model/scripted"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
	"github.com/cadre-dev/cadre/internal/sandbox/localprocess"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/fts5"
	"github.com/cadre-dev/cadre/internal/search/postings"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/applypatch"
	"github.com/cadre-dev/cadre/internal/tool/edit"
	"github.com/cadre-dev/cadre/internal/tool/fetch"
	"github.com/cadre-dev/cadre/internal/tool/glob"
	"github.com/cadre-dev/cadre/internal/tool/grep"
	"github.com/cadre-dev/cadre/internal/tool/list"
	"github.com/cadre-dev/cadre/internal/tool/read"
	"github.com/cadre-dev/cadre/internal/tool/shell"
	"github.com/cadre-dev/cadre/internal/tool/todo"
	"github.com/cadre-dev/cadre/internal/tool/write"
)

// Kinds are the nouns, in the order in which people list them.
func Kinds() []pipeline.Kind {
	return []pipeline.Kind{
		organization.Kind(),
		agent.Kind(),
		session.Kind(),
		agentexecution.Kind(),
		kindartifact.Kind(),
	}
}

// Tools are what agents may list.
func Tools() []tool.Registration {
	return []tool.Registration{
		tool.Plain("read", read.New),
		tool.Plain("write", write.New),
		tool.Plain("edit", edit.New),
		tool.Plain("apply_patch", applypatch.New),
		tool.Plain("list", list.New),
		tool.Plain("glob", glob.New),
		tool.Plain("grep", grep.New),
		fetch.Registration,
		tool.Plain("todo", todo.New),
		tool.Plain("shell", shell.New),
	}
}

// Models are the providers.
func Models() []model.Registration {
	all := []model.Registration{
		scripted.Registration,
		openai.Registration,
		chat.Registration,
		anthropic.Registration,
		gemini.Registration,
	}
	return append(all, replay.Registration(all))
}

// StoreDriver opens a database.
type StoreDriver struct {
	Name string
	// Chosen tells whether the environment asks for it; nil for the default.
	Chosen func(env func(name string) string) bool
	Open   func(ctx context.Context, o StoreOptions) (store.Store, error)
	// Search is the index over a store that Open made, which is a search.Database too.
	Search func() search.Index
	// Inspect looks into a database without changing it; the error says what is wrong.
	Inspect func(ctx context.Context, o StoreOptions) (store.Inspection, error)
	// Place is what people call the database that the environment asks for, without
	// secrets; nil of a driver whose database lies in the data folder.
	Place func(env func(name string) string) string
	// Files is what the driver offers for backups when its database lies in the data
	// folder; nil when it lies elsewhere.
	Files *store.Files
}

// StoreOptions are what a database may need. A driver reads its own variables.
type StoreOptions struct {
	DataDir string
	Env     func(name string) string // reads a variable of the environment
	Log     *slog.Logger
}

// Stores are the database drivers; the first that is chosen counts, and the last is
// the default.
func Stores() []StoreDriver {
	return []StoreDriver{
		{
			Name: "postgres", Search: postings.New, Chosen: func(env func(string) string) bool { return postgres.FromEnv(env).URL != "" },
			Open: func(ctx context.Context, o StoreOptions) (store.Store, error) {
				p := postgres.FromEnv(o.Env)
				p.Log = o.Log
				return postgres.Open(ctx, p)
			},
			Inspect: func(ctx context.Context, o StoreOptions) (store.Inspection, error) {
				return postgres.Inspect(ctx, postgres.FromEnv(o.Env).URL)
			},
			Place: func(env func(string) string) string { return postgres.Place(postgres.FromEnv(env).URL) },
		},
		{
			Name: "sqlite", Search: fts5.New, Files: &sqlite.Files,
			Open: func(ctx context.Context, o StoreOptions) (store.Store, error) { return sqlite.Open(ctx, o.DataDir) },
			Inspect: func(ctx context.Context, o StoreOptions) (store.Inspection, error) {
				return sqlite.Inspect(ctx, o.DataDir)
			},
		},
	}
}

// Store is the driver that the environment asks for.
func Store(env func(name string) string) StoreDriver {
	all := Stores()
	for _, d := range all {
		if d.Chosen != nil && d.Chosen(env) {
			return d
		}
	}
	return all[len(all)-1]
}

// Sandboxes are the sandbox drivers.
func Sandboxes() []sandbox.Registration {
	return []sandbox.Registration{
		localprocess.Registration,
		docker.Registration,
	}
}

// Artifacts are the artifact drivers; the first is the default.
func Artifacts() []artifact.Registration {
	return []artifact.Registration{
		{Name: "folder", Open: folder.Open},
	}
}

// EngineDriver makes an engine.
type EngineDriver struct {
	Name string
	New  func(o EngineOptions) (engine.Engine, error)
	// Alone tells whether the engine works for one process alone, which may then begin
	// what it accepts without asking it; nil for never.
	Alone func(env func(name string) string) bool
	// Inspect looks at what an engine that does not run keeps in the data folder and
	// says what it is; the error says what is wrong with it.
	Inspect func(o EngineOptions) (string, error)
}

// EngineOptions are what an engine may need. A driver reads its own variables.
type EngineOptions struct {
	DataDir string
	Ledger  string                   // the id of the database that tells the engine what is open
	Env     func(name string) string // reads a variable of the environment
	Timing  engine.Timing
	Log     *slog.Logger
}

// Engines are the durable engines; the first is the default. The one in memory
// forgets its wake-ups at the end of the process, and the ledger tells it again.
func Engines() []EngineDriver {
	return []EngineDriver{
		{Name: "temporal", New: func(o EngineOptions) (engine.Engine, error) {
			external, err := temporal.ExternalFromEnv(o.Env)
			if err != nil {
				return nil, err
			}
			return temporal.New(temporal.Options{
				Dir: filepath.Join(o.DataDir, "engine"), Timing: o.Timing, Log: o.Log, External: external, Ledger: o.Ledger,
			}), nil
		}, Alone: func(env func(string) string) bool {
			external, err := temporal.ExternalFromEnv(env)
			return err == nil && external == nil
		}, Inspect: func(o EngineOptions) (string, error) {
			external, err := temporal.ExternalFromEnv(o.Env)
			if err != nil {
				return "", err
			}
			if external != nil {
				return "a Temporal server at " + external.Address + ", which a running server asks for its health", nil
			}
			return "its files can be used", temporal.Inspect(filepath.Join(o.DataDir, "engine"))
		}},
		{Name: "memory", New: func(o EngineOptions) (engine.Engine, error) {
			return memory.New(memory.Options{Timing: o.Timing, Log: o.Log}), nil
		}, Inspect: func(EngineOptions) (string, error) { return "it keeps nothing", nil }},
	}
}
