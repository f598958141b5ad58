package tooltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

func testSpec(t *testing.T, f fixture) {
	s := f.tool.Spec()
	if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`).MatchString(s.Name) {
		t.Errorf("the name %q does not suit all providers", s.Name)
	}
	if strings.TrimSpace(s.Description) == "" {
		t.Error("the description is empty")
	}
	if !slices.Contains([]tool.Class{tool.ReadOnly, tool.Idempotent, tool.Unsafe}, s.Class) {
		t.Errorf("the class is %q", s.Class)
	}
	if f.schema.Type != "object" || !strings.Contains(strings.Join(strings.Fields(string(s.Schema)), ""), `"additionalProperties":false`) {
		t.Error("the schema is no object without additional properties")
	}
	for name, p := range f.schema.Properties {
		if p.Description == "" || p.Type == "" {
			t.Errorf("the argument %s lacks a type or a description", name)
		}
	}
	resolved, err := f.schema.Resolve(nil)
	if err != nil {
		t.Fatalf("the schema does not hold together: %v", err)
	}
	var args any
	if err := json.Unmarshal(call(t, f.Args).Args, &args); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(args); err != nil {
		t.Errorf("the good arguments do not fit the schema: %v", err)
	}
}

// refused runs and wants a Result that names something.
func (f fixture) refused(t *testing.T, c tool.Call, name string) tool.Result {
	t.Helper()
	before := f.state(t)
	r := f.run(t, c)
	if !r.IsError || !strings.Contains(r.Text, name) {
		t.Errorf("Run(%s) = %+v, want an error that names %q", c.Args, r, name)
	}
	if f.state(t) != before {
		t.Errorf("Run(%s) changed something", c.Args)
	}
	return r
}

func testUnknownArgument(t *testing.T, f fixture) {
	r := f.refused(t, call(t, f.with("no_such_argument", 1)), "no_such_argument")
	for name := range f.schema.Properties {
		if !strings.Contains(r.Text, name) {
			t.Errorf("the answer does not say that there is %s: %s", name, r.Text)
		}
		if len(name) < 4 {
			continue
		}
		r := f.refused(t, call(t, f.with(name+"x", 1)), name+"x")
		if !strings.Contains(r.Text, fmt.Sprintf("mean %q", name)) {
			t.Errorf("%sx is not said to be near %s: %s", name, name, r.Text)
		}
		f.refused(t, call(t, f.with(strings.ToUpper(name), f.Args[name])), strings.ToUpper(name))
	}
}

// wrong values for each JSON type.
var wrong = map[string][]any{
	"string":  {1, true, []string{"a"}, map[string]any{}},
	"integer": {"1", 1.5, true, []int{1}, 1e300},
	"number":  {"1", true, []int{1}},
	"boolean": {"true", 1, []bool{true}},
	"array":   {"a", 1, map[string]any{}, []any{nil}},
	"object":  {"a", 1, []string{}},
}

func testWrongTypes(t *testing.T, f fixture) {
	for name, p := range f.schema.Properties {
		for _, value := range wrong[p.Type] {
			f.refused(t, call(t, f.with(name, value)), "`"+name+"`")
		}
	}
}

func testMissingArgument(t *testing.T, f fixture) {
	for _, name := range f.schema.Required {
		args := maps.Clone(f.Args)
		delete(args, name)
		f.refused(t, call(t, args), "`"+name+"`")
		f.refused(t, call(t, f.with(name, nil)), "`"+name+"`")
	}
	for name := range f.schema.Properties {
		if slices.Contains(f.schema.Required, name) {
			continue
		}
		if _, given := f.Args[name]; !given {
			if r := f.run(t, call(t, f.with(name, nil))); r.IsError {
				t.Errorf("null for the optional %s is refused: %s", name, r.Text)
			}
		}
	}
}

func testNotAnObject(t *testing.T, f fixture) {
	good := string(call(t, f.Args).Args)
	for _, raw := range []string{"[]", `"a"`, "7", "{", good[:len(good)-1], good + good, "{]", `{"a":}`, "\xff", `{"\ud800`} {
		f.refused(t, tool.Call{ID: "call_1", Args: json.RawMessage(raw)}, "")
	}
	for name, value := range f.Args {
		pair := strings.Trim(string(call(t, map[string]any{name: value}).Args), "{}")
		f.refused(t, tool.Call{ID: "call_1", Args: json.RawMessage("{" + pair + "," + good[1:])}, name)
	}
}

func testPathEscapes(t *testing.T, f fixture) {
	if f.Path == "" {
		t.Skip("the tool takes no path")
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("sentinel"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(f.dir, "link")); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	for _, path := range []string{"..", "../secret", "link/secret", "link/new", outside, outside + "/secret", "a/../../b", "a\x00b"} {
		r := f.refused(t, call(t, f.with(f.Path, path)), "")
		if strings.Contains(r.Text, "sentinel") {
			t.Errorf("%q shows the outside: %s", path, r.Text)
		}
		if !strings.Contains(r.Text, path) && !strings.Contains(path, "\x00") {
			t.Errorf("the answer to %q does not name it: %s", path, r.Text)
		}
	}
	if all, err := os.ReadDir(outside); err != nil || len(all) != 1 {
		t.Errorf("the outside holds %v, %v", all, err)
	}
}

func testNoWorkspace(t *testing.T, f fixture) {
	if f.Path == "" {
		t.Skip("the tool takes no path")
	}
	f.env.Workspace = nil
	f.refused(t, call(t, f.Args), "workspace")
}
