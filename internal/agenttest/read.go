package agenttest

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Read reads a test from the root of its document, which holds no aliases. The error
// is a *Problem.
func Read(root *yaml.Node) (*Test, error) {
	t := &Test{}
	if err := mapping(root, "a test", t.fields(), "agent", "turns"); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Test) fields() table {
	return table{
		"name":  text(&t.Name),
		"agent": t.Agent.read, "model": word(&t.Model), "cassette": word(&t.Cassette),
		"effort": oneOf(&t.Effort, "none", "minimal", "low", "medium", "high", "max"),
		"approve": func(n *yaml.Node) error {
			var s string
			err := oneOf(&s, "deny", "auto")(n)
			t.Auto = s == "auto"
			return err
		},
		"workspace": func(n *yaml.Node) error {
			t.Workspace = &Workspace{}
			return mapping(n, "the workspace", t.Workspace.fields())
		},
		"turns": func(n *yaml.Node) error {
			return list(n, 1, func(n *yaml.Node) error {
				turn := Turn{Expect: Expect{}}
				err := mapping(n, "a turn", turn.fields(), "say")
				t.Turns = append(t.Turns, turn)
				return err
			})
		},
	}
}

func (a *Agent) read(n *yaml.Node) error {
	a.At = n
	if n.Kind == yaml.MappingNode {
		a.Inline = n
		return nil
	}
	return word(&a.File)(n)
}

func (w *Workspace) fields() table {
	return table{
		"copy": word(&w.Copy),
		"files": func(n *yaml.Node) error {
			w.Files = map[string]string{}
			return entries(n, func(key, value *yaml.Node) error {
				var s string
				err := text(&s)(value)
				w.Files[key.Value] = s
				return err
			})
		},
	}
}

func (t *Turn) fields() table {
	return table{
		"say": word(&t.Say),
		"attach": func(n *yaml.Node) error {
			return list(n, 1, func(n *yaml.Node) error {
				t.Attach = append(t.Attach, "")
				return word(&t.Attach[len(t.Attach)-1])(n)
			})
		},
		"schema": t.schema,
		"expect": func(n *yaml.Node) error {
			if err := mapping(n, "what is expected", t.Expect.fields()); err != nil {
				return err
			}
			return t.Expect.settle(n)
		},
	}
}

// schema keeps a JSON Schema as the text that it is.
func (t *Turn) schema(n *yaml.Node) error {
	var v any
	if n.Kind != yaml.MappingNode {
		return wrong(n, "a schema has fields, such as {type: object}, and this is %s", kind(n))
	}
	err := value(&v)(n)
	if err == nil {
		t.Schema = encode(v)
	}
	return err
}

func (e *Expect) fields() table {
	return table{
		"phase":        oneOf(&e.Phase, "completed", "failed", "waiting", "cancelled"),
		"segmentLimit": word(&e.SegmentLimit),
		"error":        word(&e.Error),
		"answer": func(n *yaml.Node) error {
			e.Answer = &Text{}
			return e.Answer.read(n, "the answer")
		},
		"tools":        calls(&e.Tools),
		"toolsInclude": calls(&e.ToolsInclude),
		"files": func(n *yaml.Node) error {
			return entries(n, func(key, value *yaml.Node) error {
				f := File{Name: key.Value}
				e.Files = append(e.Files, f)
				return e.Files[len(e.Files)-1].read(value)
			})
		},
		"modelCalls": func(n *yaml.Node) error {
			return mapping(n, "modelCalls", table{"atMost": whole(&e.ModelCalls)}, "atMost")
		},
	}
}

// settle finds what does not go together.
func (e *Expect) settle(n *yaml.Node) error {
	switch {
	case e.Error != "" && e.Phase != "" && e.Phase != "failed":
		return wrong(n, "a turn with an error has the phase failed, and this one expects %s: remove one of them", e.Phase)
	case e.Tools != nil && e.ToolsInclude != nil:
		return wrong(n, "tools says all calls and toolsInclude some of them: remove one of them")
	}
	return nil
}

func (t *Text) fields() table {
	return table{
		"equals": func(n *yaml.Node) error {
			var s string
			err := text(&s)(n)
			t.Equals = &s
			return err
		},
		"contains": t.contains,
		"matches":  t.matches,
		"json":     value(&t.JSON),
	}
}

func (t *Text) read(n *yaml.Node, what string) error {
	if err := mapping(n, what, t.fields()); err != nil {
		return err
	}
	if len(n.Content) == 0 {
		return wrong(n, "%s says nothing: write equals, contains, matches or json below it", what)
	}
	return nil
}

// contains takes a text or a list of them.
func (t *Text) contains(n *yaml.Node) error {
	one := func(n *yaml.Node) error {
		var s string
		err := word(&s)(n)
		t.Contains = append(t.Contains, s)
		return err
	}
	if n.Kind == yaml.SequenceNode {
		return list(n, 1, one)
	}
	return one(n)
}

func (t *Text) matches(n *yaml.Node) error {
	var s string
	if err := word(&s)(n); err != nil {
		return err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return wrong(n, "the regular expression is not valid: %s", err)
	}
	t.Matches = re
	return nil
}

func calls(to *[]Call) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		*to = []Call{}
		return list(n, 0, func(n *yaml.Node) error {
			var c Call
			err := mapping(n, "a call", c.fields(), "name")
			*to = append(*to, c)
			return err
		})
	}
}

func (c *Call) fields() table {
	return table{
		"name": word(&c.Name),
		"arguments": func(n *yaml.Node) error {
			if n.Kind != yaml.MappingNode {
				return wrong(n, "arguments has fields, such as {path: README.md}, and this is %s", kind(n))
			}
			return value(&c.Arguments)(n)
		},
		"result": func(n *yaml.Node) error {
			c.Result = &Text{}
			return c.Result.read(n, "the result")
		},
		"state": oneOf(&c.State, "requested", "completed", "failed", "outcome_unknown"),
	}
}

func (f *File) fields() table {
	all := f.Text.fields()
	all["absent"] = func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value != "true" {
			return wrong(n, "absent is true, or is left out")
		}
		f.Absent = true
		return nil
	}
	return all
}

func (f *File) read(n *yaml.Node) error {
	if err := mapping(n, "a file", f.fields()); err != nil {
		return err
	}
	switch {
	case len(n.Content) == 0:
		return wrong(n, "the file %s says nothing: write equals, contains, matches, json or absent below it", f.Name)
	case f.Absent && len(n.Content) > 2:
		return wrong(n, "the file %s is absent and has a text: remove one of them", f.Name)
	}
	return nil
}
