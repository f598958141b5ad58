package cli

import "testing"

func TestStrictJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"{\"a\": 1}":               {},
		"\uFEFF{\"a\": 1}\n":       {},
		"{\"a\": 1}\n{\"b\": 2}\n": {},
		"{\n  \"a\": 1,\n}":        {3, 1},
		"{\n  a: 1}":               {2, 3},
		"{\"a\": [1, 2,]}":         {1, 13},
		"{\"a\": 1":                {1, 8},
		"{}\n{\n \"b\": tru }":     {3, 10},
	} {
		p := newSource("x.json", text).strictJSON("x.json", text)
		switch {
		case want == [2]int{} && p != nil:
			t.Errorf("%q is refused: %v", text, p)
		case want != [2]int{} && (p == nil || p.line != want[0]):
			t.Errorf("%q gave %v, want line %d", text, p, want[0])
		}
	}
	if p := newSource("x.yaml", "{a: 1,}").strictJSON("x.yaml", "{a: 1,}"); p != nil {
		t.Errorf("a YAML file is judged as JSON: %v", p)
	}
}
