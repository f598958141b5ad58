package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is one dependency.
type module struct {
	path, version, dir string
	linked             bool     // into a binary of ours; else only tests use it
	packages           []string // folders of its packages that are used
	licences           []finding
}

// usedBy says what needs the module.
func (m *module) usedBy() string {
	if m.linked {
		return "product"
	}
	return "tests"
}

// goPackage is what `go list -json` tells of a package.
type goPackage struct {
	Dir      string
	Standard bool
	Error    *struct{ Err string }
	Module   *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version, Dir string }
	}
}

// usedModules lists the modules behind the packages of the module in root, in
// the order of their paths: first of its commands, then of everything with tests.
func usedModules(ctx context.Context, root string) ([]*module, error) {
	byPath := map[string]*module{}
	if err := collect(ctx, root, byPath, true, "./cmd/..."); err != nil {
		return nil, err
	}
	if err := collect(ctx, root, byPath, false, "-test", "./..."); err != nil {
		return nil, err
	}
	var modules []*module
	for _, m := range byPath {
		slices.Sort(m.packages)
		m.packages = slices.Compact(m.packages)
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *module) int { return strings.Compare(a.path, b.path) })
	return modules, nil
}

// collect adds the modules that the named packages need.
func collect(ctx context.Context, root string, into map[string]*module, linked bool, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-deps", "-json=Dir,Standard,Error,Module"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		m := into[p.Module.Path]
		if m == nil {
			m = &module{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir, linked: linked}
			if r := p.Module.Replace; r != nil {
				m.version, m.dir = r.Path+" "+r.Version, r.Dir
			}
			into[m.path] = m
		}
		if p.Dir != "" {
			m.packages = append(m.packages, p.Dir)
		}
	}
}
