package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// C36: an environment holds the queue, the token and the caller's class, and nothing else.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	e := sandbox.NewEnv("session:s", "token", "Guest ")
	if e.Queue() != "session:s" || e.Token() != "token" || e.Class() != "Guest " {
		t.Errorf("it holds %+v", e)
	}
	typ := reflect.TypeOf(e)
	for i := range typ.NumField() {
		if typ.Field(i).IsExported() {
			t.Errorf("%s can be set without the others", typ.Field(i).Name)
		}
	}
	if typ.NumField() != 3 {
		t.Errorf("it has %d fields", typ.NumField())
	}
}

// C37: what leaves the class out does not compile.
func TestNoEnvironmentWithoutAClass(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "vet", "./testdata/noclass").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("not enough arguments in call to sandbox.NewEnv")) {
		t.Errorf("it answers %v: %s", err, out)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^sbx-(ses|wfx|mcp)-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, scope := range []sandbox.Scope{sandbox.Session, sandbox.Workflow, sandbox.Connect} {
		for _, id := range []string{"a", "b", "../x", strings.Repeat("long", 100)} {
			name := sandbox.Name(sandbox.Key{Scope: scope, ID: id})
			if !form.MatchString(name) || seen[name] {
				t.Errorf("%s %s is called %s", scope, id, name)
			}
			seen[name] = true
		}
	}
}

func driver(name string) sandbox.Registration {
	return sandbox.Registration{Name: name, Open: func(context.Context, sandbox.Options) (sandbox.Provisioner, error) { return nil, nil }}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, units []sandbox.Registration
		reason     string
	}{
		"a name of Cadre's own": {nil, []sandbox.Registration{driver("docker")}, "DRIVER_NAME_RESERVED"},
		"twice":                 {nil, []sandbox.Registration{driver("mine"), driver("mine")}, "DRIVER_NAME_TAKEN"},
		"none":                  {nil, []sandbox.Registration{driver("")}, "DRIVER_WITHOUT_NAME"},
		"own and another":       {[]sandbox.Registration{driver("docker")}, []sandbox.Registration{driver("mine")}, ""},
	} {
		_, err := sandbox.NewRegistry(c.own, c.units)
		var f *fault.Fault
		if errors.As(err, &f); (f != nil) != (c.reason != "") || f != nil && f.Reason != c.reason {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}

// An unknown driver is refused by name, with the known ones; none is none.
func TestSelect(t *testing.T) {
	t.Parallel()
	r, err := sandbox.NewRegistry([]sandbox.Registration{driver("docker")}, []sandbox.Registration{driver("mine")})
	if err != nil {
		t.Fatal(err)
	}
	if _, wanted, err := r.Select(""); wanted || err != nil {
		t.Errorf("none: %t, %v", wanted, err)
	}
	if d, wanted, err := r.Select("mine"); !wanted || err != nil || d.Name != "mine" {
		t.Errorf("mine: %+v, %t, %v", d, wanted, err)
	}
	for name, words := range map[string][]string{
		"dokcer":     {"dokcer", "docker, mine", `"docker"`},
		"kubernetes": {"kubernetes", "not built", "docker, mine"},
	} {
		_, _, err := r.Select(name)
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v names no %s", name, err, w)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	if err := (sandbox.Key{Scope: "other", ID: "x"}).Check(); !errors.Is(err, sandbox.ErrBadID) || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("another scope: %v", err)
	}
}
