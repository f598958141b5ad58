// Command audit reports the licence of every module that the product or its
// tests are built from, and fails when one is unknown or not permissive.
//
// It reads the licence files in the module cache: those beside each package
// that is really used, and those in the folders above it up to the module's
// top. It promises that no such file is passed over in silence; it does not
// read the headers of source files, and it is no legal advice.
//
// Usage, from anywhere inside the repository:
//
//	go -C tools run ./audit -root DIR [-o FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

func main() {
	root := flag.String("root", ".", "the folder of the module to report on")
	file := flag.String("o", "", "also write the report to this file, separated by tabs")
	flag.Parse()
	if err := run(context.Background(), *root, *file, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		os.Exit(1)
	}
}

// run prints the report and fails when a licence is not accepted.
func run(ctx context.Context, root, file string, out io.Writer) error {
	modules, err := usedModules(ctx, root)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := m.readLicences(); err != nil {
			return err
		}
	}
	if err := table(out, modules); err != nil {
		return err
	}
	if file != "" {
		if err := write(file, modules); err != nil {
			return err
		}
	}
	var bad []string
	for _, m := range modules {
		if why := m.refused(); why != "" {
			bad = append(bad, fmt.Sprintf("%s %s: %s", m.path, m.version, why))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d modules need a decision:\n  %s\nreplace the dependency, or accept its licence in tools/audit/accepted.go with the reason",
			len(bad), len(modules), strings.Join(bad, "\n  "))
	}
	linked := 0
	for _, m := range modules {
		if m.linked {
			linked++
		}
	}
	if linked == 0 {
		return errors.New("./cmd/... links no module; the report would be about nothing")
	}
	_, err = fmt.Fprintf(out, "%d modules, %d of them linked into the binaries; every licence is accepted\n", len(modules), linked)
	return err
}

// table prints the report for people.
func table(out io.Writer, modules []*module) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODULE\tVERSION\tUSED BY\tLICENCE")
	for _, m := range modules {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.path, m.version, m.usedBy(), m.summary())
	}
	return w.Flush()
}

// write keeps the report for programs.
func write(file string, modules []*module) error {
	var b strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", m.path, m.version, m.usedBy(), m.summary())
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
