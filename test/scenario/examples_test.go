package scenario

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// TestEveryExampleIsAppliedAndRun applies each file of examples/agents and runs, or tests,
// each agent to its end; a script is proven by the agent that plays it. A file
// that is neither fails the test until somebody says here how it is proven.
func TestEveryExampleIsAppliedAndRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "examples")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	s := built.Start(t, filepath.Join(dir, "data"))
	proven := map[string]bool{}
	for _, file := range files(t, copied, "agents") {
		s.MustRun(t, dir, "apply", "-f", file)
		proven[file] = true
	}
	named := tested(t, copied)
	res, err := s.Agents().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range res.Msg.GetAgents() {
		if slug := a.GetMetadata().GetSlug(); a.GetSpec().GetModel() == "" && !named[slug+".yaml"] {
			t.Errorf("the example agent %s leaves the model to the user, and no file of examples/tests tests it", slug)
		} else if a.GetSpec().GetModel() != "" {
			proven[play(t, s, dir, a)] = true
		}
	}
	for _, file := range files(t, copied, "providers") { // nobody here has their keys
		s.MustRun(t, dir, "apply", "-f", file)
		proven[file] = true
	}
	s.MustRun(t, dir, "test", filepath.Join(copied, "tests"))
	for _, file := range files(t, copied, "tests") { // with the scripts that only they play
		proven[file] = true
	}
	for _, file := range files(t, copied, ".") {
		if !proven[file] {
			rel, _ := filepath.Rel(copied, file)
			t.Errorf("nothing applies or runs examples/%s: put an agent into examples/agents that does, or prove it here", rel)
		}
	}
}

// tested are the names of the files in examples/agents that a file of examples/tests
// names.
func tested(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range files(t, root, "tests") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "agent: ../agents/"); ok {
				all[name] = true
			}
		}
	}
	return all
}

// files are all files of a part of the examples, in order.
func files(t *testing.T, root, part string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// play runs an agent over a small tree and answers the script that it played.
func play(t *testing.T, s *built.Server, dir string, a *agentv1.Agent) string {
	t.Helper()
	slug := a.GetMetadata().GetSlug()
	path, ok := strings.CutPrefix(a.GetSpec().GetModel(), "scripted:")
	if !ok {
		t.Errorf("the example agent %s has the model %q, which no test can run: say here how it is proven", slug, a.GetSpec().GetModel())
		return ""
	}
	tree := filepath.Join(dir, "tree-"+slug)
	for name, text := range map[string]string{"README.md": "# A small tree\n\nSee main.go.\n", "src/main.go": "package main // TODO: write it\n"} {
		file := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Run(t, dir, "run", slug, "-m", "Do what you are for.", "-w", tree, "--approve", "auto")
	if got.Code != 0 || !strings.Contains(got.Out, "completed in ") || strings.Contains(got.Out, "✗") {
		t.Errorf("the example agent %s ended with %d:\n%s%s", slug, got.Code, got.Out, got.Err)
	}
	return path
}
