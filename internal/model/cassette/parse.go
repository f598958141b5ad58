package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
)

var errUnreadable = errors.New("the exchange cannot be written as YAML")

func invalid(format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidArgument, "CASSETTE_INVALID", format, args...)
}

// Parse reads a cassette's text; path names it in errors, which are faults that
// begin with it, the line and the column.
func Parse(path string, data []byte) (c *Cassette, err error) {
	p := &parser{file: path}
	defer func() {
		if r := recover(); r != nil { // a slip in the YAML reader must not end the server
			c, err = nil, invalid("%s: the file is not valid YAML", path)
		}
	}()
	if whole := wholeBytes(data); whole < len(bytes.TrimRight(data, " \t\r\n")) {
		line := bytes.Count(data[:whole], []byte("\n")) + 1
		return nil, invalid("%s:%d:1: the last exchange is not whole, since no line `...` ends it: its recording was interrupted. Remove it, from this line on", path, line)
	}
	sum := sha256.Sum256(data)
	c = &Cassette{Path: path, Sum: hex.EncodeToString(sum[:])}
	in := yaml.NewDecoder(bytes.NewReader(data))
	for first := true; ; first = false {
		var doc yaml.Node
		switch err := in.Decode(&doc); {
		case errors.Is(err, io.EOF) && first:
			return nil, invalid("%s: the file is empty, and no cassette", path)
		case errors.Is(err, io.EOF):
			return c, nil
		case err != nil:
			return nil, invalid("%s: the file is not valid YAML: %s", path, err)
		}
		if first {
			err = p.header(doc.Content[0], c)
		} else {
			var x Exchange
			err = p.exchange(doc.Content[0], &x)
			c.Exchanges = append(c.Exchanges, x)
		}
		if err != nil {
			return nil, err
		}
	}
}

// wholeBytes is how many bytes of a file are whole documents.
func wholeBytes(data []byte) int {
	if bytes.HasSuffix(data, []byte("\n...")) {
		return len(data)
	}
	at := bytes.LastIndex(data, []byte("\n"+docEnd))
	if at < 0 {
		return 0
	}
	return at + 1 + len(docEnd)
}

// parseExchange reads the document of one exchange.
func parseExchange(path string, data []byte) (x Exchange, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errUnreadable
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return x, err
	}
	if len(doc.Content) != 1 {
		return x, errUnreadable
	}
	return x, (&parser{file: path}).exchange(doc.Content[0], &x)
}

// parser reads one file.
type parser struct{ file string }

// table says how to read each field of a mapping.
type table map[string]func(*yaml.Node) error

func (p *parser) wrong(n *yaml.Node, format string, args ...any) error {
	return invalid("%s:%d:%d: %s", p.file, n.Line, n.Column, fmt.Sprintf(format, args...))
}

// mapping reads the fields of one mapping; required ones must be there.
func (p *parser) mapping(n *yaml.Node, what string, known table, required ...string) error {
	if n.Kind != yaml.MappingNode {
		return p.wrong(n, "%s must have fields", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch names := slices.Sorted(maps.Keys(known)); {
		case read == nil:
			return p.wrong(key, "%s has no field %q.%s It takes %s", what, key.Value, near.Hint(key.Value, names), near.List(names))
		case seen[key.Value]:
			return p.wrong(key, "the field %q is given twice", key.Value)
		}
		seen[key.Value] = true
		if err := read(value); err != nil {
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

func (p *parser) header(n *yaml.Node, c *Cassette) error {
	var version int
	err := p.mapping(n, "a cassette's beginning", table{
		"cassette": p.whole(&version), "model": p.text(&c.Model),
	}, "cassette", "model")
	if err == nil && version != Version {
		return p.wrong(n, "the cassette has the version %d, and this Cadre reads %d: record it again", version, Version)
	}
	return err
}

func (p *parser) exchange(n *yaml.Node, x *Exchange) error {
	return p.mapping(n, "an exchange", table{
		"number": p.whole(&x.Number), "workspace": p.text(&x.Workspace),
		"request":  func(n *yaml.Node) error { return p.request(n, &x.Request) },
		"response": func(n *yaml.Node) error { return p.response(n, &x.Response) },
	}, "request", "response")
}

func (p *parser) request(n *yaml.Node, r *Request) error {
	return p.mapping(n, "a request", table{
		"method": p.text(&r.Method), "path": p.text(&r.Path), "type": p.text(&r.Type),
		"text": p.bytes(&r.Body), "base64": p.base64(&r.Body), "json": p.json(&r.Body),
	}, "method", "path")
}

func (p *parser) response(n *yaml.Node, r *Response) error {
	return p.mapping(n, "a response", table{
		"status": p.whole(&r.Status), "headers": func(n *yaml.Node) error { return p.headers(n, r) },
		"text": p.bytes(&r.Body), "base64": p.base64(&r.Body), "error": p.text(&r.Error),
	})
}

func (p *parser) headers(n *yaml.Node, r *Response) error {
	r.Header = http.Header{}
	known := table{}
	for _, name := range keptHeaders {
		known[name] = func(n *yaml.Node) error {
			var value string
			err := p.text(&value)(n)
			r.Header.Set(name, value)
			return err
		}
	}
	return p.mapping(n, "the headers", known)
}
