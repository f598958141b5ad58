package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The marks around a document. What stands behind the last end is no whole exchange.
const (
	docBegin = "---\n"
	docEnd   = "...\n"
)

// manner is how bytes are written. The later ones are less readable and hold more.
type manner int

const (
	blocks manner = iota // texts of several lines as blocks
	quoted               // texts in quotes
	plain                // bodies in base64
)

// write makes the document of an exchange: the most readable one that reads back as
// the exchange that was given.
func write(x Exchange) ([]byte, error) {
	var last error
	for m := blocks; m <= plain; m++ {
		data, err := document(exchangeNode(x, m))
		if err != nil {
			last = err
			continue
		}
		back, err := parseExchange("", data)
		if err == nil && same(x, back) {
			return data, nil
		}
		last = err
	}
	if last == nil {
		last = errUnreadable
	}
	return nil, last
}

// header makes the first document of a file.
func header(model string) ([]byte, error) {
	return document(fields(pair{"cassette", number(Version)}, pair{"model", text(model, quoted)}))
}

func document(n *yaml.Node) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // the YAML writer panics on what it cannot write
			data, err = nil, errUnreadable
		}
	}()
	var b bytes.Buffer
	b.WriteString(docBegin)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	b.WriteString(docEnd)
	return b.Bytes(), nil
}

// same compares what was written with what was read.
func same(a, b Exchange) bool {
	return a.Number == b.Number && a.Workspace == b.Workspace &&
		a.Request.Method == b.Request.Method && a.Request.Path == b.Request.Path && a.Request.Type == b.Request.Type &&
		bytes.Equal(a.Request.Body, b.Request.Body) &&
		a.Response.Status == b.Response.Status && a.Response.Error == b.Response.Error &&
		bytes.Equal(a.Response.Body, b.Response.Body) && maps.EqualFunc(a.Response.Header, b.Response.Header, slices.Equal)
}

// pair is one field of a mapping.
type pair struct {
	name  string
	value *yaml.Node // nil leaves the field out
}

func fields(all ...pair) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, p := range all {
		if p.value != nil {
			n.Content = append(n.Content, text(p.name, quoted), p.value)
		}
	}
	return n
}

func exchangeNode(x Exchange, m manner) *yaml.Node {
	var count *yaml.Node
	if x.Number > 0 {
		count = number(x.Number)
	}
	return fields(
		pair{"number", count}, pair{"workspace", word(x.Workspace)},
		pair{"request", requestNode(x.Request, m)}, pair{"response", responseNode(x.Response, m)},
	)
}

func requestNode(r Request, m manner) *yaml.Node {
	all := []pair{{"method", word(r.Method)}, {"path", word(r.Path)}, {"type", word(r.Type)}}
	if v, ok := tree(r.Body); ok && m != plain {
		return fields(append(all, pair{"json", jsonNode(v, m)})...)
	}
	return fields(append(all, body(r.Body, m))...)
}

// tree decodes a body that is JSON in the canonical form.
func tree(data []byte) (any, bool) {
	canonical, ok := Canonical(data)
	if !ok || !bytes.Equal(canonical, data) {
		return nil, false
	}
	v, err := decode(data)
	return v, err == nil
}

func responseNode(r Response, m manner) *yaml.Node {
	var status, headers *yaml.Node
	if r.Status != 0 {
		status = number(r.Status)
	}
	if len(r.Header) > 0 {
		var all []pair
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			all = append(all, pair{name, text(r.Header.Get(name), quoted)})
		}
		headers = fields(all...)
	}
	return fields(pair{"status", status}, pair{"headers", headers}, body(r.Body, m), pair{"error", word(r.Error)})
}

// body is text where it can be, else base64.
func body(data []byte, m manner) pair {
	switch {
	case len(data) == 0:
		return pair{}
	case m == plain || !utf8.Valid(data):
		return pair{"base64", text(base64.StdEncoding.EncodeToString(data), quoted)}
	}
	return pair{"text", text(string(data), m)}
}

// text is a string, as a block when it has several lines and the manner allows it.
func text(s string, m manner) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case !strings.Contains(s, "\n"):
	case m == blocks:
		n.Style = yaml.LiteralStyle
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// word is a string; nil for an empty one.
func word(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	return text(s, quoted)
}

func number(n int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n)}
}

// jsonNode writes a JSON value as YAML.
func jsonNode(v any, m manner) *yaml.Node {
	switch v := v.(type) {
	case map[string]any:
		var all []pair
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, pair{name, jsonNode(v[name], m)})
		}
		return flowWhenEmpty(fields(all...))
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, jsonNode(item, m))
		}
		return flowWhenEmpty(n)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case string:
		return text(v, m)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

func flowWhenEmpty(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}
