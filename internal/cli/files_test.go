package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/cli"
)

// validate checks a file's text as `cadre validate` does.
func validate(t *testing.T, name, text string) (code int, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code = cli.Main(cli.Assembly{}, []string{"validate", "-f", file}, strings.NewReader(""), &out, &out)
	return code, strings.ReplaceAll(out.String(), file, name)
}

const head = "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: a}\n"

func TestWhatIsWrongInAFileHasItsPlaceAndAnAdvice(t *testing.T) {
	t.Parallel()
	spec := head + "spec:\n  instructions: Be careful with it.\n"
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":       {spec + "  modell: x/y\n", `a.yaml:6:3: unknown field "modell"; spec has description, instructions, model, effort, tools, limits. Did you mean "model"?`},
		"unknown below":       {spec + "  limits:\n    maxModelCals: 3\n", `a.yaml:7:5: unknown field "maxModelCals"; limits has maxModelCalls, maxOutputTokens, maxTurnSeconds, maxTurnTokens, maxTurnUsd. Did you mean "maxModelCalls"?`},
		"unknown at the top":  {spec + "specs: {}\n", `a.yaml:6:1: unknown field "specs"; Agent has apiVersion, kind, metadata, spec, status. Did you mean "spec"?`},
		"given twice":         {spec + "  instructions: Be quick with it.\n", `a.yaml:6:3: instructions is given twice, first on line 5: remove one of them`},
		"twice in two forms":  {spec + "  limits: {maxModelCalls: 1, max_model_calls: 2}\n", `a.yaml:6:30: maxModelCalls is given twice`},
		"label twice":         {"apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata:\n  labels: {a: x, a: y}\nspec: {}\n", `a.yaml:4:18: a is given twice`},
		"word for a number":   {spec + "  limits: {maxModelCalls: many}\n", `a.yaml:6:27: maxModelCalls is a whole number, and this is "many": write digits, such as 10`},
		"text for a list":     {spec + "  tools: read\n", `a.yaml:6:10: tools is a list, and this is "read": write [read]`},
		"fields for a list":   {spec + "  tools: {a: b}\n", `a.yaml:6:10: tools is a list, and this is a set of fields: write [a, b]`},
		"text for fields":     {head + "spec: hello\n", `a.yaml:4:7: spec has fields of its own, and this is "hello": write them below it, indented. They are description,`},
		"list for a text":     {head + "spec:\n  instructions: [a, b]\n", `a.yaml:5:17: instructions is text, and this is a list: write it on one line, or after |`},
		"number for a text":   {head + "spec:\n  instructions: 1.10\n", `a.yaml:5:17: instructions is text, and this is the number 1.10: put it in quotes, "1.10"`},
		"date for a text":     {head + "spec:\n  description: 2026-01-02\n", `a.yaml:5:16: description is text, and this is the date 2026-01-02: put it in quotes, "2026-01-02"`},
		"list for labels":     {"apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata:\n  labels: [a]\nspec: {}\n", `a.yaml:4:11: labels is a set of names with values, and this is a list`},
		"unknown choice":      {"apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: a, visibility: pubic}\nspec: {}\n", `a.yaml:3:33: visibility is one of private, org, public, and this is "pubic". Did you mean "public"?`},
		"unknown kind":        {"apiVersion: agentic.cadre.dev/v1\nkind: Agnet\n", `a.yaml:2:7: unknown kind "Agnet"; the kinds are Organization, Agent. Did you mean "Agent"?`},
		"kind to come":        {"apiVersion: agentic.cadre.dev/v1\nkind: Skill\n", `a.yaml:2:7: kind Skill cannot be applied: a later release brings it`},
		"no kind":             {"apiVersion: agentic.cadre.dev/v1\n", `a.yaml:1:1: kind is missing: write one of Organization, Agent`},
		"no resource":         {"hello\n", `a.yaml:1:1: this is no resource`},
		"another version":     {strings.Replace(spec, "/v1", "/v2", 1), "a.yaml:1:13: api_version: must equal `agentic.cadre.dev/v1`"},
		"rules of the spec":   {head + "spec:\n  instructions: short\n  effort: hgh\n", `a.yaml:6:11: spec.effort: must be one of none, minimal, low, medium, high, max. Did you mean "high"? (string.in)`},
		"a field that is not": {head + "spec:\n  model: x/y\n", `a.yaml:4:1: spec.instructions: must not be empty (string.min_len)`},
		"second document":     {spec + "---\n" + head + "spec:\n  instrctions: x\n", `a.yaml:11:3: unknown field "instrctions"`},
		"item of a list":      {"- " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n- kind: Agnt\n", `a.yaml:6:9: unknown kind "Agnt"`},
		"item of a field":     {spec + "  tools: [read, \"\"]\n", `a.yaml:6:17: spec.tools[1]: must not be empty`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, said := validate(t, "a.yaml", c.text); code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit %d and\n%swant exit 2 and\n%s", code, said, c.want)
			}
		})
	}
}

func TestTextThatIsNoYAMLHasItsPlaceAndAnAdvice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"open quote":        {"a: 1\nb: \"x\nc: 2\n", "a.yaml:2:4: this is no YAML: found unexpected end of stream. Close the quote that begins here."},
		"open list":         {"a: 1\n\nb: [x,\nc: 2\n", "a.yaml:3:4: this is no YAML"},
		"open brace":        {"a: 1\nb: {x: 1\n", "a.yaml:2:4: this is no YAML"},
		"tab":               {"a:\n\tb: 1\n", "a.yaml:2:1: this is no YAML: found character that cannot start any token. Put the value in quotes; to indent, use blanks"},
		"indentation":       {"a:\n  b: 1\n c: 2\n", "a.yaml:3:2: this is no YAML: did not find expected key. Its indentation fits none of the lines before it."},
		"colon in a value":  {"a: 1\nb: x: y\n", "a.yaml:2:1: this is no YAML: mapping values are not allowed in this context. Put a value that holds a colon in quotes"},
		"no colon":          {"a: 1\nb\nc: 2\n", "a.yaml:2:1: this is no YAML: could not find expected ':'. Put a colon after the field's name."},
		"reserved letter":   {"a: 1\nb: @x\n", "a.yaml:2:4: this is no YAML: found character that cannot start any token. Put the value in quotes"},
		"unknown anchor":    {"a: 1\nb: *x\n", "a.yaml:2:4: this is no YAML: unknown anchor 'x' referenced."},
		"wrong escape":      {"a: 1\nb: \"\\d\"\n", "a.yaml:2:5: this is no YAML: found unknown escape character. Write \\\\ for a backslash"},
		"control character": {"a: 1\nb: \x01\n", "a.yaml:2:1: this is no YAML: control characters are not allowed. It is no text file."},
		"second document":   {"a: 1\n---\nb: [\n", "a.yaml:3:4: this is no YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, said := validate(t, "a.yaml", c.text); code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit %d and\n%swant exit 2 and\n%s", code, said, c.want)
			}
		})
	}
	if code, said := validate(t, "a.json", `{"apiVersion": "agentic.cadre.dev/v1", "kind": "Agent"`); code != 2 || !strings.Contains(said, "a.json:1:1: this is no JSON") {
		t.Errorf("exit %d and\n%s", code, said)
	}
}

func TestTheLineIsShownWithAMark(t *testing.T) {
	t.Parallel()
	_, said := validate(t, "a.yaml", head+"spec:\n  instructions: Be careful with it.\n  tols: []\n")
	if want := "\n   6 |   tols: []\n     |   ^\n"; !strings.HasSuffix(said, want) {
		t.Errorf("got\n%s", said)
	}
	long := `{"apiVersion":"agentic.cadre.dev/v1","kind":"Agent","metadata":{"slug":"x"},"spec":{"instructions":"` + strings.Repeat("be careful, ", 40) + `","tols":[]}}`
	_, said = validate(t, "a.json", long)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) != 3 || len(lines[1]) > 120 || !strings.HasPrefix(lines[1][len(strings.TrimSuffix(lines[2], "^")):], `"tols"`) {
		t.Errorf("got\n%s", said)
	}
}

func TestWhatIsSoundIsSound(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"aliases":         head + "spec: {instructions: &x Be careful with it., description: *x}\n",
		"both forms":      "api_version: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: a}\nspec: {instructions: Be careful with it., limits: {max_model_calls: 5}}\n",
		"blank documents": "---\n# nothing\n---\n" + head + "spec: {instructions: Be careful with it.}\n---\n",
		"inline document": "--- {apiVersion: agentic.cadre.dev/v1, kind: Agent, metadata: {slug: a}, spec: {instructions: Be careful with it.}}\n",
		"line ends":       strings.ReplaceAll(head+"spec:\n  instructions: Be careful with it.\n", "\n", "\r\n"),
		"status":          head + "spec: {instructions: Be careful with it.}\nstatus: {}\n",
		"what get prints": "apiVersion: agentic.cadre.dev/v1\nkind: Agent\nmetadata: {slug: a, version: {number: \"3\"}, visibility: org, audit: {created: {by: me, at: \"2026-01-02T03:04:05Z\"}}}\nspec: {instructions: Be careful with it.}\n",
	} {
		if code, said := validate(t, "a.yaml", text); code != 0 || strings.Count(said, "is sound") != 1 {
			t.Errorf("%s: exit %d and\n%s", name, code, said)
		}
	}
}

func TestAliasesCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(head + "spec:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		a := string(rune('a' + i - 1))
		b := string(rune('a' + i))
		if i == 1 {
			a = "a0"
		}
		text.WriteString("  " + b + ": &" + b + " [" + strings.TrimSuffix(strings.Repeat("*"+a+", ", 10), ", ") + "]\n")
	}
	if code, said := validate(t, "a.yaml", text.String()); code != 2 || !strings.Contains(said, "aliases make more than") {
		t.Errorf("exit %d and\n%s", code, said)
	}
}

func FuzzFiles(f *testing.F) {
	f.Add(head + "spec: {instructions: &x Be careful with it., description: *x}\n")
	f.Add("a: [")
	f.Fuzz(func(t *testing.T, text string) {
		code, said := validate(t, "a.yaml", text)
		if code != 0 && code != 2 {
			t.Fatalf("exit %d: %s", code, said)
		}
	})
}
