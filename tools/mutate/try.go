package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// verdict is what the tests say of a change.
type verdict int

const (
	noticed verdict = iota
	survived
	invalid
)

// share says which changes are tried, the kth of every n, and how many at once.
type share struct{ k, n, jobs int }

// try breaks a target in the ways of a share.
func (t target) try(ctx context.Context, root string, s share, accepted map[string]bool) (summary, error) {
	sum := summary{name: t.name}
	all, err := t.changes(root)
	if err != nil {
		return sum, err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	queue := make(chan change)
	for range s.jobs {
		group.Go(func() {
			for c := range queue {
				v, verr := t.verdict(ctx, root, c)
				mu.Lock()
				if verr != nil {
					err = verr
				}
				sum.count(c, v, accepted[c.key()])
				mu.Unlock()
			}
		})
	}
	for i := s.k - 1; i < len(all); i += s.n {
		queue <- all[i]
	}
	close(queue)
	group.Wait()
	return sum, err
}

func (s *summary) count(c change, v verdict, explained bool) {
	switch {
	case v == noticed:
		s.noticed++
	case v == invalid:
		s.invalid++
	case explained:
		s.explained++
	default:
		s.survivors = append(s.survivors, c)
		fmt.Fprintf(os.Stderr, "%s:%d %s\n", c.file, c.line, c.what)
	}
}

func (t target) changes(root string) ([]change, error) {
	var all []change
	for _, f := range t.files {
		name, funcs, _ := strings.Cut(f, "#")
		src, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // a file of the checkout
		if err != nil {
			return nil, err
		}
		found, err := changes(name, src, strings.FieldsFunc(funcs, func(r rune) bool { return r == ',' }))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// verdict compiles a change through an overlay and runs the tests on it.
func (t target) verdict(ctx context.Context, root string, c change) (verdict, error) {
	if ctx.Err() != nil {
		return invalid, ctx.Err()
	}
	dir, err := os.MkdirTemp("", "cadre-mutate-")
	if err != nil {
		return invalid, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := write(dir, root, c)
	if err != nil {
		return invalid, err
	}
	for _, args := range t.runs() {
		args = append([]string{"test", "-overlay", overlay, "-vet=off", "-ldflags=-s -w", "-failfast", "-timeout", "120s"}, args...)
		cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the go command on packages of targets
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		switch {
		case ctx.Err() != nil:
			return invalid, ctx.Err()
		case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
			return invalid, nil
		case err != nil:
			return noticed, nil
		}
	}
	return survived, nil
}

// runs are the arguments of the test runs, those first that are quick to notice.
func (t target) runs() [][]string {
	var quick, late [][]string
	for _, pkg := range t.tests {
		var args []string
		if t.run != "" {
			args = []string{"-run", t.run}
		}
		if t.slow != "" {
			late = append(late, []string{"-run", t.slow, pkg})
			args = append(args, "-skip", t.slow)
		}
		quick = append(quick, append(args, pkg))
	}
	return append(quick, late...)
}

// write makes the changed file and the overlay that puts it in place.
func write(dir, root string, c change) (overlay string, err error) {
	original := filepath.Join(root, c.file)
	src, err := os.ReadFile(original) //nolint:gosec // a file of the checkout
	if err != nil {
		return "", err
	}
	changed := append(append(append([]byte{}, src[:c.start]...), c.with...), src[c.end:]...)
	file := filepath.Join(dir, filepath.Base(c.file))
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{original: file}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}
