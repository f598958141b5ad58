package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// inits reports init functions: what they do is seen by no reader of a call.
func (c *checker) inits(f *file) {
	if f.place.room == "gen" {
		return
	}
	for _, line := range f.inits {
		c.report(f, line, NoInit, "has an init function; return the value from a function and name it in a list, in internal/standard for drivers and kinds")
	}
}

// waits reports tests that sleep. In a bubble of testing/synctest time is fake
// and sleeping is how it passes; elsewhere a test that waits for time is slow
// on a good day and fails on a bad one. Benchmarks pace their load, and test/
// drives whole processes at chosen instants; both may sleep.
func (c *checker) waits(f *file) {
	if !f.test && !f.place.helper() {
		return // the linter forbids it in the product
	}
	if f.place.room == "test" || path.Base(f.name) == "bench_test.go" {
		return
	}
	if slices.ContainsFunc(f.imports, func(i imported) bool { return i.path == "testing/synctest" }) {
		return
	}
	for _, line := range f.sleeps {
		c.report(f, line, Sleep, "sleeps; wait for the event itself, or run the test in testing/synctest")
	}
}

// comments reports packages without a package comment. Packages that consist
// of tests alone, and generated ones, need none.
func (c *checker) comments() {
	for _, dir := range slices.Sorted(maps.Keys(c.packages)) {
		files := slices.DeleteFunc(slices.Clone(c.packages[dir]), func(f *file) bool { return f.test })
		if len(files) == 0 || files[0].place.room == "gen" {
			continue
		}
		if !slices.ContainsFunc(files, func(f *file) bool { return f.doc }) {
			c.report(files[0], 0, Doc, "package %s has no comment; say in one file above the package clause what it promises and what it does not", files[0].pkg)
		}
	}
}

// slim follows the imports of the small programs and reports the first file of
// ours that would link a heavy library into one.
func (c *checker) slim() {
	for _, program := range slices.Sorted(maps.Keys(slimPrograms)) {
		c.follow(program, program, slimPrograms[program], map[string]bool{}, nil)
	}
}

// follow visits dir and what it imports. via is the way from the program to dir.
func (c *checker) follow(program, dir string, allowed []string, seen map[string]bool, via []string) {
	if seen[dir] {
		return
	}
	seen[dir] = true
	via = append(slices.Clone(via), dir)
	for _, f := range c.packages[dir] {
		if f.test {
			continue
		}
		for _, imp := range f.imports {
			if imp.ours {
				c.follow(program, imp.dir, allowed, seen, via)
				continue
			}
			l := libraryOf(imp.path)
			// A library outside its rooms is reported already.
			if l == nil || !l.home(dir) || slices.Contains(allowed, l.name) {
				continue
			}
			c.report(f, imp.line, Law4, "%s links %s through %s; it is the small program for sandboxes, so break that chain",
				program, l.name, strings.Join(via, " -> "))
		}
	}
}
