// Command generate writes everything under gen/ from the .proto files under
// proto/: Go messages, Connect code, the list of RPC adapters, an OpenAPI
// document and JSON Schemas; and the pages about kinds and events under docs/.
//
// It promises the same bytes for the same .proto files and the same pinned
// tools, and needs no network beyond the Go module proxy. It removes what an
// earlier run left under gen/ before it writes, and writes nothing when a
// .proto file does not compile or breaks a rule of the lint.
//
// Usage, from anywhere inside the repository:
//
//	go -C tools run ./generate [-root DIR] [-lint]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "", "the repository's folder; default: the nearest folder above that has proto/ and go.mod")
	lintOnly := flag.Bool("lint", false, "check the .proto files and write nothing")
	flag.Parse()
	if err := run(context.Background(), *root, *lintOnly); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run compiles, checks and writes. An empty root is looked for.
func run(ctx context.Context, root string, lintOnly bool) error {
	root, err := findRoot(root)
	if err != nil {
		return err
	}
	src, err := compile(ctx, filepath.Join(root, "proto"))
	if err != nil {
		return err
	}
	if err := lint(src); err != nil {
		return err
	}
	if lintOnly {
		return nil
	}

	plugins, err := buildPlugins(ctx, filepath.Join(root, "tools"))
	if err != nil {
		return err
	}
	defer plugins.remove()

	out := output{}
	steps := []struct {
		what string
		do   func() error
	}{
		{"Go messages", func() error { return plugins.goMessages(ctx, src, out) }},
		{"Connect code", func() error { return plugins.connect(ctx, src, out) }},
		{"OpenAPI", func() error { return plugins.openAPI(ctx, src, out) }},
		{"RPC adapters", func() error { return adapters(src, out) }},
		{"JSON Schemas", func() error { return schemas(src, out) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	if err := out.write(filepath.Join(root, "gen")); err != nil {
		return err
	}
	return references(src).writeOver(filepath.Join(root, "docs"))
}

// findRoot returns an absolute root. It climbs from the working folder when
// none is given.
func findRoot(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if isRoot(dir) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no folder above has both proto/ and go.mod; say which with -root")
		}
		dir = up
	}
}

func isRoot(dir string) bool {
	if st, err := os.Stat(filepath.Join(dir, "proto")); err != nil || !st.IsDir() {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
