package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// decode reads exactly one JSON value.
func decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the JSON")
	}
	return v, nil
}

// within says what of an expected value is not in the one that came: objects may
// have more fields, lists must be as long, all else must be equal.
func within(place string, expected, came any) []string {
	switch e := expected.(type) {
	case map[string]any:
		c, ok := came.(map[string]any)
		if !ok {
			break
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(e)) {
			inner := strings.TrimPrefix(place+"."+name, ".")
			if v, ok := c[name]; ok {
				all = append(all, within(inner, e[name], v)...)
			} else {
				all = append(all, fmt.Sprintf("- %s %s", inner, show(e[name])), fmt.Sprintf("+ %s (nothing)", inner))
			}
		}
		return all
	case []any:
		c, ok := came.([]any)
		if !ok || len(c) != len(e) {
			break
		}
		var all []string
		for i := range e {
			all = append(all, within(fmt.Sprintf("%s[%d]", place, i), e[i], c[i])...)
		}
		return all
	default:
		if equal(expected, came) {
			return nil
		}
	}
	return []string{strings.TrimSpace("- " + place + " " + show(expected)), strings.TrimSpace("+ " + place + " " + show(came))}
}

// equal compares two values that are no objects and no lists.
func equal(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if isNumber && both {
		f, err := x.Float64()
		g, err2 := y.Float64()
		return x == y || err == nil && err2 == nil && f == g && strings.ContainsAny(string(x)+string(y), ".eE")
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// encode writes a value that decode made.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}

// show writes a value on one line.
func show(v any) string { return short(encode(v)) }

// widest is how many characters of a value are shown.
const widest = 160

func short(s string) string {
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return s
}
