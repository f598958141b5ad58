// Package catalogue knows models by name: their windows, abilities, prices and
// which one is used when none is named. It is data: a list that is built in, with
// the day and the source of each price, and an operator's own file over it.
//
// Promise: what is not known stays unknown. A model without a price costs an
// unknown amount, never nothing.
package catalogue

import (
	_ "embed" // for the list beside this file
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Variable names the operator's own file. FileName is where it is looked for in
// the data folder when the variable is empty.
const (
	Variable = "CADRE_MODELS"
	FileName = "models.json"
)

//go:embed catalogue.json
var builtIn []byte

// Entry is what is known of one model, or of all models of a host: a name that
// ends in `*` stands for every name that begins like it and has no entry of its own.
type Entry struct {
	Name            string   `json:"name"`
	Description     string   `json:"description,omitempty"`
	ContextWindow   int64    `json:"contextWindow,omitempty"`   // tokens, input and output together; 0 is unknown
	MaxOutputTokens int64    `json:"maxOutputTokens,omitempty"` // of one answer; 0 is unknown
	Abilities       []string `json:"abilities,omitempty"`       // of Abilities
	Prices          []Price  `json:"prices,omitempty"`          // none: the price is unknown
	Default         bool     `json:"default,omitempty"`         // used when none is named and its provider can be used
	Own             bool     `json:"-"`                         // the operator's file says so
}

// The abilities.
const (
	Tools            = "tools"
	Images           = "images"
	StructuredOutput = "structured_output"
	Reasoning        = "reasoning"
)

// Abilities are all that an entry may name.
var Abilities = []string{Tools, Images, StructuredOutput, Reasoning}

// Price is in US dollars per million tokens, from a day on.
type Price struct {
	From string `json:"from,omitempty"` // the first day in UTC, `2027-01-01`; "" is always
	Rates
	LongAbove int64  `json:"longAbove,omitempty"` // requests with more input tokens have the rates of Long; 0: none have
	Long      *Rates `json:"long,omitempty"`
	AsOf      string `json:"asOf"`   // the day on which it was looked up
	Source    string `json:"source"` // where
}

// Rates are what tokens cost.
type Rates struct {
	Input       float64  `json:"input"`
	CachedInput *float64 `json:"cachedInput,omitempty"` // nil: as Input
	CacheWrite  *float64 `json:"cacheWrite,omitempty"`  // nil: as Input
	Output      float64  `json:"output"`
}

// Catalogue is a list of models. It does not change; safe for concurrent use.
type Catalogue struct {
	entries []Entry // the operator's first
	byName  map[string]int
}

// Open reads the built-in list and the operator's file over it: the one that the
// variable names, which must exist, or models.json in the data folder when it is there.
func Open(dataDir string, env func(name string) string) (*Catalogue, error) {
	path, must := env(Variable), true
	if path == "" {
		path, must = filepath.Join(dataDir, FileName), false
	}
	own, err := os.ReadFile(path)
	switch {
	case err == nil:
		return New(path, own)
	case os.IsNotExist(err) && !must:
		return New("", nil)
	}
	return nil, fault.New(fault.FailedPrecondition, "MODELS_FILE_UNREADABLE",
		"the list of models %s cannot be read: check the path in %s", path, Variable).Because(err)
}

// New makes a catalogue of the built-in list with the content of the operator's
// file, called name, over it. An entry of the file replaces the built-in one of the same name.
func New(name string, own []byte) (*Catalogue, error) {
	mine, err := parse(name, own)
	if err != nil {
		return nil, err
	}
	known, err := parse("catalogue.json", builtIn)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{byName: map[string]int{}}
	for i := range mine {
		mine[i].Own = true
	}
	if slices.ContainsFunc(mine, func(e Entry) bool { return e.Default }) {
		for i := range known {
			known[i].Default = false // the operator chose
		}
	}
	for _, e := range slices.Concat(mine, known) {
		if _, has := c.byName[e.Name]; !has {
			c.byName[e.Name] = len(c.entries)
			c.entries = append(c.entries, e)
		}
	}
	return c, nil
}

// All are the entries, the operator's own first. The slice is the caller's.
func (c *Catalogue) All() []Entry { return slices.Clone(c.entries) }

// Find gives the entry of a model: its own, that of the name without the date of
// a snapshot (`gpt-5-2026-01-31`, `claude-x-20260131`, `-latest`), or one with `*`.
func (c *Catalogue) Find(name string) (Entry, bool) {
	for _, n := range []string{name, withoutDate(name)} {
		if i, ok := c.byName[n]; ok {
			return c.entries[i], true
		}
	}
	best, found := Entry{}, false
	for _, e := range c.entries {
		prefix, wild := strings.CutSuffix(e.Name, "*")
		if wild && strings.HasPrefix(name, prefix) && (!found || len(e.Name) > len(best.Name)) {
			best, found = e, true
		}
	}
	return best, found
}

// withoutDate takes the mark of a snapshot off a name.
func withoutDate(name string) string {
	if n, ok := strings.CutSuffix(name, "-latest"); ok {
		return n
	}
	for _, layout := range []string{"2006-01-02", "20060102"} {
		at := len(name) - len(layout) - 1
		if at <= 0 || name[at] != '-' {
			continue
		}
		if _, err := time.Parse(layout, name[at+1:]); err == nil {
			return name[:at]
		}
	}
	return name
}

// Default is the first default model, in the order of the list, for which usable
// answers true; "" when there is none.
func (c *Catalogue) Default(usable func(name string) bool) string {
	for _, e := range c.entries {
		if e.Default && usable(e.Name) {
			return e.Name
		}
	}
	return ""
}

// Has tells whether the model is known to have an ability.
func (e Entry) Has(ability string) bool { return slices.Contains(e.Abilities, ability) }

// Sees is false for a model that is known to take no images. A host's models are not
// all known.
func (c *Catalogue) Sees(name string) bool {
	e, known := c.Find(name)
	return !known || strings.HasSuffix(e.Name, "*") || e.Has(Images)
}

// Window is how many tokens a model takes, input and output together; 0 when it is unknown.
func (c *Catalogue) Window(name string) int64 {
	e, _ := c.Find(name)
	return e.ContextWindow
}

// PriceAt is the price that holds at a moment; nil when it is unknown.
func (e Entry) PriceAt(now time.Time) *Price {
	day := now.UTC().Format(time.DateOnly)
	for i := len(e.Prices) - 1; i >= 0; i-- {
		if e.Prices[i].From <= day {
			return &e.Prices[i]
		}
	}
	return nil
}

// bad is a fault about the operator's file.
func bad(file, format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "MODELS_FILE_INVALID", "the list of models %s: %s", file, fmt.Sprintf(format, args...))
}
