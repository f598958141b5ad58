package glob_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/glob"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go .go x-y.go", "a/b.go a.gop a.g"},
		{"a?c", "abc aüc", "ac a/c abbc"},
		{"**", "a a/b a/b/c", ""},
		{"**/x", "x a/x a/b/x", "ax a/xb x/a"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb b"},
		{"a/**", "a/b a/b/c", "a b/a"},
		{"a**b", "ab axxb", "a/b"},
		{"[a-c]x", "ax bx cx", "dx x -x"},
		{"[!a-c]x", "dx zx", "ax bx /x"},
		{"[]]x", "]x", "x [x"},
		{"[a-]x", "ax -x", "bx"},
		{`[\]]x`, "]x", `\x`},
		{`\*x`, "*x", "ax xx"},
		{"*.{go,mod}", "a.go go.mod", "a.gomod a.{go,mod}"},
		{"{a,b{c,d}}", "a bc bd", "b ac"},
		{"a.b+c(d)|e^$", "a.b+c(d)|e^$", "aab+c(d)|e^$"},
		{"a,b", "a,b", "a b"},
	} {
		p, err := glob.Compile(c.pattern, glob.Options{Braces: true})
		if err != nil {
			t.Errorf("Compile(%q): %v", c.pattern, err)
			continue
		}
		for _, path := range strings.Fields(c.yes) {
			if !p.Match(path) {
				t.Errorf("%q does not match %q", c.pattern, path)
			}
		}
		for _, path := range strings.Fields(c.no) {
			if p.Match(path) {
				t.Errorf("%q matches %q", c.pattern, path)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	plain, err := glob.Compile("{a,b}", glob.Options{})
	if err != nil || !plain.Match("{a,b}") || plain.Match("a") {
		t.Errorf("without Braces a brace is itself: %v", err)
	}
	folded, err := glob.Compile("*.GO", glob.Options{IgnoreCase: true})
	if err != nil || !folded.Match("x.go") {
		t.Errorf("IgnoreCase: %v", err)
	}
	if (glob.Pattern{}).Match("") {
		t.Error("the zero Pattern matches")
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"[a", "[", "[!", "[a/b]", `a\`, "{a", "{a,{b}", "[z-a]", strings.Repeat("a", 5000)} {
		if _, err := glob.Compile(pattern, glob.Options{Braces: true}); err == nil {
			t.Errorf("Compile(%.20q) has no error", pattern)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"*.go", "a/**/b", "[!a-c]{x,y}", `\[`, "[]-a]", "{", "\xff["} {
		f.Add(s, "a/x/b")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := glob.Compile(pattern, glob.Options{Braces: true})
		if err != nil {
			return
		}
		if p.Match(path) && !strings.ContainsAny(pattern, `*?[\{`) && pattern != path {
			t.Errorf("the plain pattern %q matches %q", pattern, path)
		}
	})
}
