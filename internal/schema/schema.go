// Package schema judges whether a text is JSON that keeps to a JSON Schema (draft
// 2020-12, or draft 7 where $schema says so). References lead nowhere outside of
// the schema: nothing is ever fetched.
package schema

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
)

// MostBytes is the largest schema, in bytes.
const MostBytes = 64 << 10

// Schema is a schema that was checked. Safe for concurrent use.
type Schema struct{ resolved *jsonschema.Resolved }

// Parse reads a schema. The error is an InvalidArgument that says what is wrong: it
// is no JSON, no schema, or describes something else than an object, which is what
// providers can hold their models to.
func Parse(text string) (*Schema, error) {
	if len(text) > MostBytes {
		return nil, bad("it has %d bytes, and %d are allowed", len(text), MostBytes)
	}
	if err := oneValue(text); err != nil {
		return nil, bad("it is no valid JSON: %s", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, bad("%s", words(err))
	}
	if s.Type != "object" {
		return nil, bad(`it must describe an object: begin with {"type": "object", "properties": …}`)
	}
	if word := unknownType(text); word != "" {
		return nil, bad("no type is called %q.%s They are: %s", word, near.Hint(word, types), near.List(types))
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		return nil, bad("%s", words(err))
	}
	return &Schema{resolved}, nil
}

// Check is nil when the text is one JSON value that keeps to the schema. Otherwise
// its words say where it does not.
func (s *Schema) Check(text string) error {
	if err := oneValue(text); err != nil {
		return errors.New("it is no valid JSON: " + err.Error())
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	if err := s.resolved.Validate(v); err != nil {
		return errors.New(words(err))
	}
	return nil
}

// oneValue checks that a text is one JSON value and nothing else.
func oneValue(text string) error {
	in := json.NewDecoder(strings.NewReader(text))
	var v json.RawMessage
	if err := in.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("it ends too early")
		}
		return err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// words are what a validator says, without the names of its own parts.
func words(err error) string {
	s := err.Error()
	for _, prefix := range []string{"jsonschema: ", "validating root: ", "json: "} {
		s = strings.ReplaceAll(s, prefix, "")
	}
	return s
}

func bad(format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "OUTPUT_SCHEMA_INVALID", "the schema of the answer cannot be used: "+format, args...)
}
