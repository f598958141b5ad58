package catalogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/near"
)

// dearest is the highest rate, in dollars per million tokens, that is believed: a
// higher one was meant per token or per thousand in another unit.
const dearest = 100_000

// parse reads a list. nil is an empty one.
func parse(file string, data []byte) ([]Entry, error) {
	if data == nil {
		return nil, nil
	}
	var list struct {
		Models []Entry `json:"models"`
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&list); err != nil {
		return nil, unreadable(file, data, in.InputOffset(), err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, bad(file, "something follows the list, at line %d", lineAt(data, in.InputOffset()))
	}
	seen := map[string]bool{}
	if list.Models == nil {
		return nil, bad(file, `it has no models: write {"models": […]}`)
	}
	if err := whole(file, data); err != nil {
		return nil, err
	}
	for i, e := range list.Models {
		if err := e.check(); err != "" {
			return nil, bad(file, "models[%d] %q: %s", i, e.Name, err)
		}
		if seen[e.Name] {
			return nil, bad(file, "the model %q is listed twice", e.Name)
		}
		seen[e.Name] = true
	}
	return list.Models, nil
}

// whole refuses prices that leave out what they are for: a price that is not there would
// read as free.
func whole(file string, data []byte) error {
	type rates struct{ Input, Output *float64 }
	var list struct {
		Models []struct {
			Name   string
			Prices []struct {
				Input, Output *float64
				Long          *rates
			}
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return bad(file, "%s", err)
	}
	for _, m := range list.Models {
		for _, p := range m.Prices {
			if p.Input == nil || p.Output == nil || p.Long != nil && (p.Long.Input == nil || p.Long.Output == nil) {
				return bad(file, "the model %q: a price must have `input` and `output`; write 0 for what is free", m.Name)
			}
		}
	}
	return nil
}

// unreadable says where a file is no list.
func unreadable(file string, data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		return bad(file, "line %d: %s must be %s, not %s", lineAt(data, kind.Offset), kind.Field, kind.Type, kind.Value)
	}
	words := strings.TrimPrefix(err.Error(), "json: ")
	if field, ok := strings.CutPrefix(words, "unknown field "); ok {
		offset = int64(bytes.Index(data, []byte(field))) // the decoder tells no place
		words = "unknown field " + field + "." + near.Hint(strings.Trim(field, `"`), fields)
	}
	return bad(file, "line %d: %s", lineAt(data, offset), words)
}

// fields are all names that a list may use.
var fields = []string{
	"models", "name", "description", "contextWindow", "maxOutputTokens", "abilities", "prices", "default",
	"from", "input", "cachedInput", "cacheWrite", "output", "longAbove", "long", "asOf", "source",
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// check says what is wrong with an entry; "" when nothing is.
func (e Entry) check() string {
	if _, _, err := model.ParseName(strings.TrimSuffix(e.Name, "*") + "x"); err != nil || e.Name == "" {
		return "`name` must be a model's name, such as openai/gpt-6.1-sol, or its beginning and a `*`"
	}
	if strings.Contains(strings.TrimSuffix(e.Name, "*"), "*") {
		return "a `*` stands at the end of `name` only"
	}
	if e.ContextWindow < 0 || e.MaxOutputTokens < 0 {
		return "`contextWindow` and `maxOutputTokens` must not be negative"
	}
	for _, a := range e.Abilities {
		if !slices.Contains(Abilities, a) {
			return "no ability is called " + a + "." + near.Hint(a, Abilities) + " They are: " + near.List(Abilities)
		}
	}
	if e.Default && strings.HasSuffix(e.Name, "*") {
		return "`default` needs a whole name"
	}
	before := ""
	for i, p := range e.Prices {
		if i > 0 && p.From <= before {
			return "`prices` must be in the order of their `from`, each later than the one before"
		}
		before = p.From
		if wrong := p.check(); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (p Price) check() string {
	for name, day := range map[string]string{"from": p.From, "asOf": p.AsOf} {
		if _, err := time.Parse(time.DateOnly, day); err != nil && !(name == "from" && day == "") {
			return "`" + name + "` must be a day such as 2026-11-30"
		}
	}
	if p.Source == "" {
		return "`source` must say where the price comes from"
	}
	if (p.LongAbove > 0) != (p.Long != nil) || p.LongAbove < 0 {
		return "`longAbove`, a number of tokens, and `long` belong together"
	}
	if p.Long != nil && !p.Long.good() || !p.good() {
		return "prices are in US dollars per million tokens, from 0 to 100000"
	}
	return ""
}

func (r Rates) good() bool {
	for _, v := range []*float64{&r.Input, &r.Output, r.CachedInput, r.CacheWrite} {
		if v != nil && (*v < 0 || *v > dearest || math.IsNaN(*v)) {
			return false
		}
	}
	return true
}
