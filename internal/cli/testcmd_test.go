package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/cli"
	"github.com/cadre-dev/cadre/internal/model/cassette"
	"github.com/cadre-dev/cadre/internal/turn"
)

// runTest runs `cadre test` on a file with a server that does not start.
func runTest(t *testing.T, text string, args ...string) (code int, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := cli.Assembly{Serve: func(_ context.Context, o cli.ServeOptions) error {
		if o.Engine != "memory" || o.Listen != "127.0.0.1:0" || !filepath.IsAbs(o.DataDir) || !o.FailFast || !o.OnThisMachine {
			t.Errorf("the server is started with %+v", o)
		}
		return errors.New("no server here")
	}}
	var out bytes.Buffer
	code = cli.Main(a, append([]string{"test", file}, args...), strings.NewReader(""), &out, &out)
	return code, strings.ReplaceAll(out.String(), filepath.Dir(file)+string(filepath.Separator), "")
}

const soundAgent = "agent: {instructions: You do what you are told.}\n"

func TestWhatIsWrongInATestHasItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"syntax":         {"turns: [\n", "a.test.yaml:1:8: this is no YAML"},
		"nothing":        {"", "a.test.yaml: a test is one document of YAML"},
		"two documents":  {soundAgent + "---\n" + soundAgent, "a.test.yaml: a test is one document of YAML"},
		"field":          {soundAgent + "turns: [{sya: x}]\n", `a.test.yaml:2:10: unknown field "sya"; a turn has attach, expect, say and schema. Did you mean "say"?`},
		"agent's field":  {"agent: {instrctions: x}\nturns: [{say: x}]\n", `a.test.yaml:1:9: unknown field "instrctions"; spec has`},
		"agent's rule":   {"agent: {instructions: short}\nturns: [{say: x}]\n", `a.test.yaml:1:23: spec.instructions: must`},
		"whole resource": {"agent: {kind: Agnet}\nturns: [{say: x}]\n", `a.test.yaml:1:15: unknown kind "Agnet"`},
		"no agent":       {"agent: {apiVersion: tenancy.cadre.dev/v1, kind: Organization, metadata: {slug: a}, spec: {}}\nturns: [{say: x}]\n", `a.test.yaml:1:8: there is no agent in it`},
		"file":           {"agent: none.yaml\nturns: [{say: x}]\n", `a.test.yaml:1:8: the agent's file none.yaml: no such file or directory`},
		"copy":           {soundAgent + "workspace: {copy: none}\nturns: [{say: x}]\n", `a.test.yaml:2:19: none is no folder`},
		"files":          {soundAgent + "turns: [{say: x, expect: {files: {a: {equals: x}}}}]\n", `a.test.yaml:2:1: files are expected, and the test has no workspace`},
		"attach":         {soundAgent + "turns: [{say: x, attach: [none.png]}]\n", "a.test.yaml:2:27: none.png: no such file"},
		"schema":         {soundAgent + "turns: [{say: x, schema: {type: nonsense}}]\n", "a.test.yaml:2:18: "},
		"cassette":       {soundAgent + "cassette: c.yaml\nturns: [{say: x}]\n", "a.test.yaml:2:11: there is no recording c.yaml"},
		"aliases":        {"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n", "its aliases make more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, said := runTest(t, c.text); code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit %d and\n%swant exit 2 and\n%s", code, said, c.want)
			}
		})
	}
}

func TestAServerThatDoesNotStartFailsTheTests(t *testing.T) {
	t.Parallel()
	code, said := runTest(t, soundAgent+"turns: [{say: x}]\n")
	if code != 1 || said != "error: the server for the tests does not start: no server here\n" {
		t.Errorf("exit %d and\n%s", code, said)
	}
}

func TestOnlyARealModelIsRecorded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "model: scripted:x.yaml\n", "model: replay:x.yaml\n"} {
		code, said := runTest(t, soundAgent+name+"cassette: c.yaml\nturns: [{say: x}]\n", "--record")
		if code != 2 || !strings.Contains(said, "is no model that can be recorded") {
			t.Errorf("%q: exit %d and\n%s", name, code, said)
		}
	}
	if code, said := runTest(t, soundAgent+"model: openai/x\ncassette: c.yaml\nturns: [{say: x}]\n", "--record"); code != 1 || !strings.Contains(said, "no server here") {
		t.Errorf("exit %d and\n%s", code, said)
	}
}

func TestTwoTestsDoNotRecordToOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.test.yaml", "b.test.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(soundAgent+"model: openai/x\ncassette: c.yaml\nturns: [{say: x}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	code := cli.Main(cli.Assembly{}, []string{"test", dir, "--record"}, strings.NewReader(""), &out, &out)
	if code != 2 || !strings.Contains(out.String(), "b.test.yaml: it records to the same cassette as "+filepath.Join(dir, "a.test.yaml")) {
		t.Errorf("exit %d and\n%s", code, out.String())
	}
}

// A recording is compared without the workspace, which the recorder reads off the
// words that a turn tells the model.
func TestTheRecorderFindsTheWorkspaceInWhatATurnTells(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"", "/w", "/a b/c. d", `/q"uote`} {
		for _, agent := range []string{"Be brief.", "Your workspace is the folder /x. Give tools paths relative to it."} {
			got, want := cassette.Workspace(turn.Instructions(agent, folder, false)), folder
			if folder == "" && agent != "Be brief." {
				want = "/x"
			}
			if got != want {
				t.Errorf("%q, %q: %q", agent, folder, got)
			}
		}
	}
}
