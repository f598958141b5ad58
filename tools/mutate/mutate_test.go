package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

var list = []int{1, 2}

func f(a, b int) (int, error) {
	if a < b && b > 0 {
		a++
		return a, err
	}
	switch a {
	case 7:
		go g()
	}
	return g(struct{ ok bool }{ok: true}), nil
}
`

// TestTheChanges: each kind is found, where it is, and says what it breaks.
func TestTheChanges(t *testing.T) {
	t.Parallel()
	all, err := changes("p.go", []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range all {
		got = append(got, c.fn+": "+c.what+" => "+c.with)
		if c.start >= c.end || c.end > len(source) || c.line == 0 {
			t.Errorf("%+v is nowhere", c)
		}
	}
	for _, want := range []string{
		": element `1` removed => ",
		": element `1` behind its neighbour => 2, 1",
		"f: `a < b && b > 0` negated => !(a < b && b > 0)",
		"f: `a < b && b > 0` without its left side => b > 0",
		"f: `a < b` with <= => <=",
		"f: `a++` removed => ",
		"f: `return a, err` answers nil for `err` => nil",
		"f: clause `case 7: go g()` removed => ",
		"f: `go g()` removed => ",
		"f: 8 for 7 in `case 7:` => 8",
		"f: element `ok: true` removed => ",
		"f: false for true in `return g(struct{ ok bool }{ok: true}), nil` => false",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestASurvivorIsTold: a test that notices, one that does not, and code that breaks.
func TestASurvivorIsTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"m.go":      "package m\n\nfunc Old(age int) bool {\n\treturn age > 60\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestOld(t *testing.T) {\n\tif Old(1) || !Old(99) {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := target{name: "m", files: []string{"m.go"}, tests: []string{"."}}
	sum, err := m.try(t.Context(), root, share{1, 1, 1}, map[string]bool{"m.go\tOld\t61 for 60 in `return age > 60`": true})
	if err != nil {
		t.Fatal(err)
	}
	// The bound is not tested, twice; nil is no bool.
	if sum.noticed != 0 || sum.invalid != 1 || sum.explained != 1 || len(sum.survivors) != 1 || sum.survivors[0].what != "`age > 60` with >=" {
		t.Errorf("the summary is %+v", sum)
	}
}

func TestAcceptedWantsAReason(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "accepted.txt")
	for text, ok := range map[string]bool{"# x\n\na.go\tf\tgone\tsame outcome\n": true, "a.go\tf\tgone\t\n": false, "a.go\n": false} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readAccepted(name); (err == nil) != ok || ok && !got["a.go\tf\tgone"] {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
}
