package agenttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/near"
)

// table says how to read each field of a mapping.
type table map[string]func(*yaml.Node) error

func wrong(n *yaml.Node, format string, args ...any) error {
	return &Problem{Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)}
}

// mapping reads the fields of one mapping; required ones must be there.
func mapping(n *yaml.Node, what string, known table, required ...string) error {
	names := slices.Sorted(maps.Keys(known))
	if n.Kind != yaml.MappingNode {
		return wrong(n, "%s has fields of its own, and this is %s: write them below it, indented. They are %s", what, kind(n), near.List(names))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		read := known[key.Value]
		switch {
		case read == nil:
			return wrong(key, "unknown field %q; %s has %s.%s", key.Value, what, near.List(names), near.Hint(key.Value, names))
		case seen[key.Value]:
			return wrong(key, "%s is given twice: remove one of them", key.Value)
		}
		seen[key.Value] = true
		if err := read(n.Content[i+1]); err != nil {
			return err
		}
	}
	for _, name := range required {
		if !seen[name] {
			return wrong(n, "%s needs the field %q", what, name)
		}
	}
	return nil
}

// entries reads a mapping whose keys are paths of files.
func entries(n *yaml.Node, read func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "here must be names of files with what they hold, and this is %s", kind(n))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || !filepath.IsLocal(key.Value):
			return wrong(key, "%s is no path below the workspace", kind(key))
		case seen[key.Value]:
			return wrong(key, "%s is given twice: remove one of them", key.Value)
		}
		seen[key.Value] = true
		if err := read(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func list(n *yaml.Node, least int, read func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return wrong(n, "here must be a list, and this is %s", kind(n))
	}
	if len(n.Content) < least {
		return wrong(n, "the list is empty")
	}
	for _, e := range n.Content {
		if err := read(e); err != nil {
			return err
		}
	}
	return nil
}

// kind says what stands there.
func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a set of fields"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%.40q", n.Value)
}

func text(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
			return wrong(n, "here must be text, and this is %s: put it in quotes", kind(n))
		}
		*to = n.Value
		return nil
	}
}

func word(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := text(to)(n); err != nil {
			return err
		}
		if *to == "" {
			return wrong(n, "the text here must not be empty")
		}
		return nil
	}
}

func oneOf(to *string, known ...string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || !slices.Contains(known, n.Value) {
			return wrong(n, "here must be one of %s, and this is %s.%s", near.List(known), kind(n), near.Hint(n.Value, known))
		}
		*to = n.Value
		return nil
	}
}

func whole(to *int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < 1 || v > math.MaxInt32 {
			return wrong(n, "here must be a whole number of 1 or more, and this is %s", kind(n))
		}
		*to = v
		return nil
	}
}

// value reads YAML that stands for JSON.
func value(to *any) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var v any
		if err := n.Decode(&v); err != nil {
			return wrong(n, "the value cannot be read")
		}
		data, err := json.Marshal(v)
		if err != nil {
			return wrong(n, "JSON has no such value: names of fields are text, and numbers are finite")
		}
		if *to, err = decode(string(data)); err == nil && *to == nil {
			return wrong(n, "here must be a value, and this is nothing")
		}
		return err
	}
}
