package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the reference of commands")

// reference is the page that writeReference makes.
const reference = "../../docs/reference/commands.md"

func TestTheReferenceOfCommandsIsCurrent(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	writeReference(&page, (&app{}).root())
	if *update {
		if err := os.WriteFile(reference, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	has, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(has, page.Bytes()) {
		t.Error("docs/reference/commands.md is not current: run go test ./internal/cli -run Reference -update")
	}
}

func TestEachCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := manPages((&app{}).root(), dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "cadre-run.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".TH", "--model", "Exit codes"} {
		if !strings.Contains(strings.ReplaceAll(string(page), `\-`, "-"), want) {
			t.Errorf("the page of cadre run does not have %q", want)
		}
	}
}

func TestEachShellHasACompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out, errOut bytes.Buffer
		if got := Main(Assembly{}, []string{"completion", shell}, nil, &out, &errOut); got != 0 || !strings.Contains(out.String(), "cadre") {
			t.Errorf("cadre completion %s: exit %d, %d bytes, %s", shell, got, out.Len(), errOut.String())
		}
	}
}
