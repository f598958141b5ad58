// Package tooltest is the suite that every tool passes.
package tooltest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Case is one tool with arguments that succeed.
type Case struct {
	New func() tool.Tool
	// Open gives the workspace over a folder of this host.
	Open func(dir string) (workspace.Workspace, error)
	// Files are the workspace's content, by path.
	Files map[string]string
	// Args succeed on Files. Not nil.
	Args map[string]any
	// Path is the argument that holds a path; "" when the tool has none, and then
	// it may work without a workspace.
	Path string
}

// Run checks a tool.
func Run(t *testing.T, c Case) {
	t.Helper()
	for _, one := range []struct {
		name string
		run  func(*testing.T, fixture)
	}{
		{"Spec", testSpec},
		{"Succeeds", testSucceeds},
		{"Twice", testTwice},
		{"Concurrent", testConcurrent},
		{"UnknownArgument", testUnknownArgument},
		{"WrongTypes", testWrongTypes},
		{"MissingArgument", testMissingArgument},
		{"NotAnObject", testNotAnObject},
		{"PathEscapes", testPathEscapes},
		{"NoWorkspace", testNoWorkspace},
		{"ContextEnds", testContextEnds},
		{"ReadOnly", testReadOnly},
		{"Prepare", testPrepare},
		{"Commit", testCommit},
		{"CommitAfterForeignChange", testForeignChange},
		{"PrepareAll", testPrepareAll},
		{"CommitAll", testCommitAll},
		{"CrashBetween", testCrashBetween},
		{"CommitAfterForeignChanges", testForeignChanges},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			one.run(t, newFixture(t, c))
		})
	}
}

// fixture is a tool and its workspace.
type fixture struct {
	Case
	tool   tool.Tool
	schema *jsonschema.Schema
	dir    string
	env    tool.Env
}

func newFixture(t *testing.T, c Case) fixture {
	t.Helper()
	f := fixture{Case: c, tool: c.New(), dir: t.TempDir(), schema: new(jsonschema.Schema)}
	if err := json.Unmarshal(f.tool.Spec().Schema, f.schema); err != nil {
		t.Fatalf("the schema is no JSON schema: %v", err)
	}
	for name, text := range c.Files {
		p := filepath.Join(f.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := c.Open(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	f.env = tool.Env{Workspace: ws, Progress: func(string) {}}
	return f
}

// with gives the good arguments with one changed.
func (f fixture) with(name string, value any) map[string]any {
	args := maps.Clone(f.Args)
	args[name] = value
	return args
}

// call makes a call of arguments.
func call(t *testing.T, args any) tool.Call {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{ID: "call_1", Args: data}
}

// run runs and wants no error of the tool itself.
func (f fixture) run(t *testing.T, c tool.Call) tool.Result {
	t.Helper()
	r, err := f.tool.Run(t.Context(), f.env, c)
	if err != nil {
		t.Fatalf("Run(%s): %v", c.Args, err)
	}
	if r.Text == "" {
		t.Errorf("Run(%s) says nothing", c.Args)
	}
	return r
}

// state is a digest of all names, modes and contents of the workspace.
func (f fixture) state(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(f.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		h.Write([]byte(p + "\x00" + info.Mode().String() + "\x00"))
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		h.Write(append(data, 0))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
