package scripted

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// deepest nesting of arguments.
const deepest = 100

// arguments reads a tool call's arguments: a mapping becomes JSON with its fields
// in the order of the script; a text is taken verbatim, also when it is no JSON.
func (p *parser) arguments(n *yaml.Node, to *string) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		*to = n.Value
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return p.wrong(n, "the arguments must be a mapping, or a text that is sent as it is, not %s", kind(n))
	}
	var b bytes.Buffer
	if err := p.json(&b, n, 0); err != nil {
		return err
	}
	*to = b.String()
	return nil
}

// json writes a YAML value as JSON.
func (p *parser) json(b *bytes.Buffer, n *yaml.Node, depth int) error {
	n, err := p.follow(n)
	if err != nil {
		return err
	}
	if depth > deepest {
		return p.wrong(n, "the arguments are nested more than %d deep", deepest)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return p.object(b, n, depth)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, e := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := p.json(b, e, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	return p.scalar(b, n)
}

func (p *parser) object(b *bytes.Buffer, n *yaml.Node, depth int) error {
	seen := map[string]bool{}
	b.WriteByte('{')
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return p.wrong(key, "a field's name must be text")
		}
		if seen[key.Value] {
			return p.wrong(key, "the field %q is given twice", key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(b, key.Value)
		b.WriteByte(':')
		if err := p.json(b, n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// scalar writes numbers, truth values and null as such, all else as text.
func (p *parser) scalar(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		var v any
		if err := n.Decode(&v); err != nil {
			return p.wrong(n, "the value %s cannot be read", kind(n))
		}
		out, err := json.Marshal(v)
		if err != nil {
			return p.wrong(n, "JSON cannot hold the number %s", kind(n))
		}
		b.Write(out)
		return nil
	}
	writeString(b, n.Value)
	return nil
}

// writeString writes a JSON string, with <, > and & as themselves.
func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	b.Truncate(b.Len() - 1)
}
