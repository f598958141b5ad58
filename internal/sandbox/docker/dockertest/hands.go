package dockertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var handsProgram struct {
	sync.Once
	path string
	err  error
}

// Hands is the program that works inside: what CADRE_HANDS names, else built once.
func (e *Engine) Hands(t testing.TB) func(arch string) (string, error) {
	t.Helper()
	handsProgram.Do(func() { handsProgram.path, handsProgram.err = e.build() })
	if handsProgram.err != nil {
		t.Fatal(handsProgram.err)
	}
	return func(string) (string, error) { return handsProgram.path, nil }
}

func (e *Engine) build() (string, error) {
	if given := os.Getenv("CADRE_HANDS"); given != "" {
		return given, nil
	}
	dir := e.dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "cadre-hands-"); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, "cadre-hands")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/cadre-dev/cadre/cmd/cadre-hands")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building cadre-hands: %w\n%s", err, out)
	}
	return path, nil
}
