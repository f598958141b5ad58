package scripted

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/near"
)

// mostNodes bounds what aliases can make of a small file.
const mostNodes = 200_000

// parser reads one file. Its errors are faults that begin with file, line and column.
type parser struct {
	file  string
	nodes int
}

// table says how to read each field of a mapping.
type table map[string]func(*parser, *yaml.Node) error

// parse reads a script.
func parse(file string, data []byte) (s *script, err error) {
	p := &parser{file: file}
	defer func() {
		if r := recover(); r != nil { // a slip in the YAML reader must not end the server
			s, err = nil, p.invalid("%s: the file is not valid YAML", file)
		}
	}()
	var doc, second yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(data))
	switch err := in.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, p.invalid("%s: the script is empty: it needs `turns` or `steps`", file)
	case err != nil:
		return nil, p.invalid("%s: the file is not valid YAML: %s", file, err)
	}
	if err := in.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, p.invalid("%s: the file holds more than one document, or something that is not YAML", file)
	}
	sum := sha256.Sum256(data)
	s = &script{path: file, sum: hex.EncodeToString(sum[:])}
	if err := p.script(doc.Content[0], s); err != nil {
		return nil, err
	}
	return s, nil
}

// script reads the outermost mapping.
func (p *parser) script(n *yaml.Node, s *script) error {
	var short []step
	if err := p.mapping(n, "a script", s.fields(&short)); err != nil {
		return err
	}
	switch {
	case short != nil && s.turns != nil:
		return p.wrong(n, "a script has either `turns` or `steps`, not both")
	case short == nil && s.turns == nil:
		return p.wrong(n, "a script needs `turns`, or `steps` that answer every message")
	case short != nil:
		s.turns, s.repeat = []turn{{steps: short}}, true
	}
	return nil
}

func (p *parser) invalid(format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "SCRIPT_INVALID", format, args...).With("file", p.file)
}

// wrong is an error about one place.
func (p *parser) wrong(n *yaml.Node, format string, args ...any) error {
	return p.invalid("%s:%d:%d: %s", p.file, n.Line, n.Column, fmt.Sprintf(format, args...))
}

// follow gives the node behind an alias, and counts.
func (p *parser) follow(n *yaml.Node) (*yaml.Node, error) {
	if p.nodes++; p.nodes > mostNodes {
		return nil, p.wrong(n, "the script is too large: with its aliases it has more than %d values", mostNodes)
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias, nil
	}
	return n, nil
}

// mapping reads the fields of one mapping; required ones must be there.
func (p *parser) mapping(n *yaml.Node, what string, fields table, required ...string) error {
	n, err := p.follow(n)
	if err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return p.wrong(n, "%s must be a mapping of fields, not %s", what, kind(n))
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		read := fields[key.Value]
		switch {
		case read == nil:
			names := slices.Sorted(maps.Keys(fields))
			return p.wrong(key, "%s has no field %q.%s It takes %s", what, key.Value, near.Hint(key.Value, names), near.List(names))
		case seen[key.Value]:
			return p.wrong(key, "the field %q is given twice", key.Value)
		}
		seen[key.Value] = true
		value, err := p.follow(n.Content[i+1])
		if err == nil {
			err = read(p, value)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range required {
		if !seen[name] {
			return p.wrong(n, "%s needs the field %q", what, name)
		}
	}
	return nil
}

// list reads each element of a list.
func (p *parser) list(n *yaml.Node, least int, read func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return p.wrong(n, "here must be a list, not %s", kind(n))
	}
	if len(n.Content) < least {
		return p.wrong(n, "the list is empty")
	}
	for _, e := range n.Content {
		e, err := p.follow(e)
		if err == nil {
			err = read(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kind says what stands there.
func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%.40q", n.Value)
}

// text reads a string.
func (p *parser) text(n *yaml.Node, to *string) error {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return p.wrong(n, "here must be text, not %s: put it in quotes", kind(n))
	}
	*to = n.Value
	return nil
}

// word reads a string that is not empty.
func (p *parser) word(n *yaml.Node, to *string) error {
	if err := p.text(n, to); err != nil {
		return err
	}
	if *to == "" {
		return p.wrong(n, "the text here must not be empty")
	}
	return nil
}

func (p *parser) flag(n *yaml.Node, to *bool) error {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		return p.wrong(n, "here must be true or false, not %s", kind(n))
	}
	return n.Decode(to)
}

// integer reads a whole number of at least least.
func integer[T int | int64](p *parser, n *yaml.Node, to *T, least T) error {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < int64(least) || v > math.MaxInt32 {
		return p.wrong(n, "here must be a whole number of %d or more, not %s", least, kind(n))
	}
	*to = T(v)
	return nil
}

// duration reads `50ms`.
func (p *parser) duration(n *yaml.Node, to *time.Duration) error {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || err != nil || d < 0 || d > mostDelay {
		return p.wrong(n, "here must be a duration such as 50ms or 2s, at most %s, not %s", mostDelay, kind(n))
	}
	*to = d
	return nil
}

func (p *parser) pattern(n *yaml.Node, to **regexp.Regexp) error {
	var s string
	if err := p.text(n, &s); err != nil {
		return err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return p.wrong(n, "the regular expression is not valid: %s", err)
	}
	*to = re
	return nil
}

func (p *parser) category(n *yaml.Node, to *model.Category) error {
	var s string
	if err := p.text(n, &s); err != nil {
		return err
	}
	var names []string
	for _, c := range model.Categories() {
		names = append(names, string(c))
	}
	if !slices.Contains(names, s) {
		return p.wrong(n, "no error category is called %q.%s There are %s", s, near.Hint(s, names), near.List(names))
	}
	*to = model.Category(s)
	return nil
}
