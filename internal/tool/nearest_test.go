package tool_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

const code = `package a

func first(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func second(name string) string {
	greeting := "hello, " + name
	return strings.ToUpper(greeting)
}
`

func TestNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		line, same int
		diff       string
	}{
		{"a word differs", "func second(name string) string {\n\tgreeting := \"hello \" + name\n\treturn strings.ToUpper(greeting)", 10, 2,
			"  func second(name string) string {\n- \tgreeting := \"hello \" + name\n+ \tgreeting := \"hello, \" + name\n  \treturn strings.ToUpper(greeting)\n"},
		{"a line is missing", "\tif n < 0 {\n\t\treturn -n\n\treturn n\n}", 4, 4, "  \tif n < 0 {\n  \t\treturn -n\n+ \t}\n  \treturn n\n  }\n"},
		{"a line is too much", "func first(n int) int {\n\t// negative\n\tif n < 0 {", 3, 2, "  func first(n int) int {\n- \t// negative\n  \tif n < 0 {\n"},
		{"a part of a line", "strings.ToUpper(greting)", 12, 0, "- strings.ToUpper(greting)\n+ \treturn strings.ToUpper(greeting)\n"},
		{"blanks", "    if n < 0 {\n        return -n", 4, 2, "-     if n < 0 {\n-         return -n\n+ \tif n < 0 {\n+ \t\treturn -n\n"},
	} {
		p, ok := tool.Nearest(tool.Lines(code), tool.Lines(c.want))
		if !ok || p.Line != c.line || p.Same != c.same || p.Diff != c.diff {
			t.Errorf("%s: Nearest = %+v, %v, want line %d, %d same and\n%s", c.name, p, ok, c.line, c.same, c.diff)
		}
	}
	for _, far := range []string{"", "\n\n", "SELECT 1\nFROM t", "}", "a b c d e f g h int"} {
		if p, ok := tool.Nearest(tool.Lines(code), tool.Lines(far)); ok && far != "}" {
			t.Errorf("%q is near %+v", far, p)
		}
	}
}

// TestNearestIsBounded: sizes that would take minutes if the work were their product.
func TestNearestIsBounded(t *testing.T) {
	t.Parallel()
	have := strings.Repeat("same words in each line\n", 300_000)
	want := strings.Repeat("same words in every line\n", 5_000)
	if p, ok := tool.Nearest(tool.Lines(have), tool.Lines(want)); !ok || p.Wanted != 200 || len(p.Diff) > 20_000 {
		t.Errorf("Nearest = %+v, %v", p, ok)
	}
	long := strings.Repeat("word ", 100_000)
	if p, ok := tool.Nearest([]string{long}, []string{long + "x"}); !ok || len(p.Diff) > 20_000 {
		t.Errorf("a long line: %v, %d bytes", ok, len(p.Diff))
	}
}

func FuzzNearest(f *testing.F) {
	f.Add(code, "func first()")
	f.Add("\xff\xfe a", "\xff")
	f.Fuzz(func(t *testing.T, have, want string) {
		h, w := tool.Lines(have), tool.Lines(want)
		if p, ok := tool.Nearest(h, w); ok && (p.Line < 1 || p.Line > len(h) || p.Same > p.Wanted || p.Diff == "") {
			t.Errorf("Nearest(%q, %q) = %+v", have, want, p)
		}
	})
}
