package cassette

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"
)

func (p *parser) text(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			return p.wrong(n, "here must be text: put it in quotes")
		}
		*to = n.Value
		return nil
	}
}

func (p *parser) bytes(to *[]byte) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var s string
		err := p.text(&s)(n)
		*to = []byte(s)
		return err
	}
}

func (p *parser) base64(to *[]byte) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return p.wrong(n, "here must be base64")
		}
		*to = data
		return nil
	}
}

func (p *parser) whole(to *int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < 1 {
			return p.wrong(n, "here must be a whole number of 1 or more")
		}
		*to = v
		return nil
	}
}

func (p *parser) json(to *[]byte) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		v, err := p.value(n)
		if err != nil {
			return err
		}
		*to, err = encode(v)
		return err
	}
}

// value reads YAML that stands for JSON.
func (p *parser) value(n *yaml.Node) (any, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		all := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if _, twice := all[key.Value]; twice || key.Kind != yaml.ScalarNode {
				return nil, p.wrong(key, "a field's name must be text, and stand here once")
			}
			v, err := p.value(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			all[key.Value] = v
		}
		return all, nil
	case n.Kind == yaml.SequenceNode:
		all := []any{}
		for _, item := range n.Content {
			v, err := p.value(item)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	case n.Kind != yaml.ScalarNode:
		return nil, p.wrong(n, "a cassette has no aliases: write the value out")
	}
	return p.scalar(n)
}

func (p *parser) scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
	case "!!bool":
		if n.Value == "true" || n.Value == "false" {
			return n.Value == "true", nil
		}
	case "!!null":
		return nil, nil
	case "!!str", "!!timestamp":
		return n.Value, nil
	}
	return nil, p.wrong(n, "JSON has no value that is written like this: %.40q", n.Value)
}
