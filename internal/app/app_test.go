package app

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/gen/go/rpc"
)

var update = flag.Bool("update", false, "write testdata/sentences.txt")

// assembled opens a server that does not listen.
func assembled(t *testing.T) *App {
	t.Helper()
	return assembledIn(t, t.TempDir())
}

// assembledIn opens one over a data folder.
func assembledIn(t *testing.T, dir string) *App {
	t.Helper()
	a := &App{opt: Options{DataDir: dir, Engine: "memory", Version: "test"}, boot: "boot_test"}
	t.Cleanup(a.close)
	for _, step := range []func(context.Context) error{a.openFolder, a.openProcesses, a.openStore, a.openSearch, a.openEngine, a.assemble, a.firstStart} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// C33
func TestTheTransportAndThePipelineShareOneValidator(t *testing.T) {
	t.Parallel()
	a := assembled(t)
	if a.deps.Validator == nil || a.deps.Validator != a.dispatch.Validator() {
		t.Fatal("the pipeline's validator is not the transport's")
	}
}

func TestEachVerbIsItsSentence(t *testing.T) {
	t.Parallel()
	a := assembled(t)
	var sentences []string
	answered := map[string]bool{}
	for _, v := range a.verbs {
		if len(v.Steps) == 0 {
			t.Errorf("%s is not made of steps", v.Procedure)
		}
		answered[v.Procedure] = true
		sentences = append(sentences, v.Sentence())
	}
	for _, m := range rpc.Methods {
		if !answered[m.Procedure] {
			t.Errorf("no verb answers %s", m.Procedure)
		}
	}
	slices.Sort(sentences)
	got := strings.Join(sentences, "\n") + "\n"
	golden := filepath.Join("testdata", "sentences.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != got {
		t.Fatalf("the verbs' sentences changed; look at them and run with -update:\n%s", got)
	}
}

func TestEveryVerbAuthorizesBeforeItReads(t *testing.T) {
	t.Parallel()
	for _, v := range assembled(t).verbs {
		if v.Public {
			continue
		}
		names := []string{v.Steps[0].Name, v.Steps[1].Name}
		if !slices.Equal(names, []string{"authorize", "validate"}) {
			t.Errorf("%s begins with %v", v.Procedure, names)
		}
	}
}
