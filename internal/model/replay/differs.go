package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/model"
)

const (
	mostShown    = 6    // differences that are shown
	mostBytes    = 1700 // of all that is shown; an error's detail holds it
	valueShown   = 70   // characters of a value that are shown
	beforeChange = 20   // characters of a text before the first that differs
)

// differs is the error of a request that is not in the cassette. It shows what
// differs from the exchange that is nearest.
func (d deck) differs(where string, body []byte) error {
	best, fewest := -1, 0
	var now any
	for i, e := range d.reel.entries {
		asked := read(neutral(body, d.folder, d.reel.cassette.Exchanges[i].Workspace))
		n := count(read(e.body), asked)
		if e.where != where {
			n += 1000 // another kind of request is far away
		}
		if best < 0 || n < fewest {
			best, fewest, now = i, n, asked
		}
	}
	text := fmt.Sprintf("the cassette %s has no answer to this request", filepath.Base(d.reel.cassette.Path))
	if best < 0 {
		return refusal(text + ": it is empty. Record it")
	}
	found := diff{}
	if e := d.reel.entries[best]; e.where != where {
		found.add("address", e.where, where)
	}
	found.compare("", read(d.reel.entries[best].body), now)
	return refusal(fmt.Sprintf("%s. Nearest is its exchange %d; recorded -> now:\n%s\nRecord it again if the change is meant", text, best+1, found.shown()))
}

func refusal(text string) error {
	return &model.Error{Category: model.BadRequest, Status: 400, Code: "replay", Type: "request_differs", Message: text}
}

// read decodes JSON; what is none is a text.
func read(body []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(body)
	}
	return v
}

// count is how many values differ.
func count(recorded, now any) int {
	d := diff{}
	d.compare("", recorded, now)
	return d.weight
}

// diff collects differences by their place.
type diff struct {
	lines  []string
	weight int // values that differ, where what is missing counts with all that it holds
}

func (d *diff) add(place, recorded, now string) {
	if len(d.lines) <= mostShown {
		d.lines = append(d.lines, fmt.Sprintf("  %s: %s -> %s", place, recorded, now))
	}
}

func (d *diff) compare(place string, recorded, now any) {
	switch r := recorded.(type) {
	case map[string]any:
		if n, ok := now.(map[string]any); ok {
			d.objects(place, r, n)
			return
		}
	case []any:
		if n, ok := now.([]any); ok {
			d.lists(place, r, n)
			return
		}
	}
	if leaf(recorded) && recorded == now {
		return
	}
	d.weight += size(recorded) + size(now)
	if a, ok := recorded.(string); ok {
		if b, ok := now.(string); ok {
			if 2*shared(a, b) < max(len(a), len(b)) {
				d.weight += 2 // another text is further away than a changed one
			}
			a, b = around(a, b)
			d.add(named(place), a, b)
			return
		}
	}
	d.add(named(place), brief(recorded), brief(now))
}

// missing stands for a value that is not there.
type missing struct{}

func (d *diff) objects(place string, recorded, now map[string]any) {
	names := slices.Sorted(maps.Keys(recorded))
	for name := range now {
		if _, ok := recorded[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.compare(strings.TrimPrefix(place+"."+name, "."), at(recorded, name), at(now, name))
	}
}

func at(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return missing{}
}

func (d *diff) lists(place string, recorded, now []any) {
	for i := range max(len(recorded), len(now)) {
		var r, n any = missing{}, missing{}
		if i < len(recorded) {
			r = recorded[i]
		}
		if i < len(now) {
			n = now[i]
		}
		d.compare(fmt.Sprintf("%s[%d]", place, i), r, n)
	}
}

func leaf(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// size counts the values in a value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += size(inner)
		}
	case []any:
		for _, inner := range v {
			n += size(inner)
		}
	case missing:
		return 0
	}
	return n
}

func named(place string) string {
	if place == "" {
		return "the body"
	}
	return place
}

// brief shows a value on one line.
func brief(v any) string {
	if _, ok := v.(missing); ok {
		return "(nothing)"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return short(string(data))
}

func short(s string) string {
	if r := []rune(s); len(r) > valueShown {
		return string(r[:valueShown-1]) + "…"
	}
	return s
}

// around shows two texts from shortly before the place where they part.
func around(a, b string) (string, string) {
	from := shared(a, b)
	for n := 0; from > 0 && (n < beforeChange || !utf8.RuneStart(a[from])); n++ {
		from--
	}
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	lead := ""
	if from > 0 {
		lead = "…"
	}
	return brief(lead + a[from:]), brief(lead + b[from:])
}

// shared is how many bytes two texts have in common at their beginning.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// shown are the lines, within bounds.
func (d *diff) shown() string {
	lines, room := d.lines, mostBytes
	for i, line := range lines {
		if room -= len(line) + 1; room < 0 || i == mostShown {
			return strings.Join(append(slices.Clone(lines[:i]), "  and more"), "\n")
		}
	}
	return strings.Join(lines, "\n")
}
