package failure

import (
	"errors"
	"regexp"
	"slices"
	"syscall"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// The bounds of what is looked at of an error: errors, values of bodies, texts, and
// bytes of one text. Cycles end at them.
const (
	mostErrors = 64
	mostValues = 256
	mostTexts  = 64
	textLimit  = 4096
)

// seen is an error with what the table looks at.
type seen struct {
	err      error
	provider *model.Error
	fault    *fault.Fault
	status   int // that an error tells of itself; 0 is none
	texts    []string
}

// read looks at an error once.
func read(err error) *seen {
	s := &seen{err: err}
	if s.provider, _ = find[*model.Error](err); s.provider == nil { // else its category says all
		s.texts = texts(err)
	}
	s.fault, _ = find[*fault.Fault](err)
	each(err, func(e error) bool {
		if told, ok := e.(interface{ HTTPStatus() int }); ok {
			s.status = told.HTTPStatus()
		}
		return s.status == 0
	})
	return s
}

// each shows an error and what it wraps, the outer ones first, until visit answers false.
// It ends also where an error wraps itself.
func each(err error, visit func(error) bool) {
	queue := []error{err}
	for n := 0; n < len(queue) && n < mostErrors; n++ {
		e := queue[n]
		if e == nil {
			continue
		}
		if !visit(e) {
			return
		}
		switch w := e.(type) { //nolint:errorlint // this is the walk itself
		case interface{ Unwrap() error }:
			queue = append(queue, w.Unwrap())
		case interface{ Unwrap() []error }:
			inner := w.Unwrap()
			queue = append(queue, inner[:min(len(inner), mostErrors)]...)
		}
	}
}

// find is the first error of a type.
func find[T error](err error) (found T, ok bool) {
	each(err, func(e error) bool {
		found, ok = e.(T) //nolint:errorlint // each shows every error of the chain
		return !ok
	})
	return found, ok
}

// texts collects what an error says, bounded: of each error its text, and of a body that was decoded from JSON the fields code,
// message, name, param and type, there and in what it nests under error, cause, response
// and data.
func texts(err error) []string {
	c := &collector{}
	each(err, func(e error) bool {
		c.add(e.Error())
		if b, ok := e.(interface{ Body() any }); ok {
			c.body(b.Body())
		}
		return true
	})
	return c.texts
}

// collector keeps each text once, within the bounds.
type collector struct {
	texts  []string
	values int // of bodies that were looked at
}

func (c *collector) add(text string) {
	text = text[:min(len(text), textLimit)]
	if text != "" && len(c.texts) < mostTexts && !slices.Contains(c.texts, text) {
		c.texts = append(c.texts, text)
	}
}

// body collects from a value that JSON was decoded into. What is nested waits in a
// queue, so that a value which holds itself ends at the bound.
func (c *collector) body(v any) {
	queue := []any{v}
	for n := 0; n < len(queue); n++ {
		if c.values++; c.values > mostValues {
			return
		}
		switch o := queue[n].(type) {
		case map[string]any:
			for _, key := range []string{"code", "message", "name", "param", "type"} {
				if text, ok := o[key].(string); ok {
					c.add(text)
				}
			}
			for _, key := range []string{"error", "cause", "response", "data"} {
				if inner, ok := o[key]; ok {
					queue = append(queue, inner)
				}
			}
		case []any:
			queue = append(queue, o[:min(len(o), mostValues)]...)
		case error:
			c.add(o.Error())
		}
	}
}

// Words of errors that have no status. They say what happened where nothing better does.
var (
	rateWords     = regexp.MustCompile(`(?i)\b(rate limit(ed)?|too many requests)\b`)
	overloadWords = regexp.MustCompile(`(?i)\b(overloaded|service unavailable|temporarily unavailable)\b`)
)

// bareSentence is all that some libraries say when they reach nobody.
const bareSentence = "Connection error."

// lost are the connection's own errors.
var lost = []error{syscall.ECONNRESET, syscall.ETIMEDOUT, syscall.ECONNREFUSED, syscall.EPIPE}

// other tells whether nothing better is known of an error than what it says itself: a
// provider's has its row above.
func (s *seen) other() bool { return s.fault == nil }

func (s *seen) says(words *regexp.Regexp) bool {
	return slices.ContainsFunc(s.texts, words.MatchString)
}

// limited: a status is authoritative, words count only without one.
func (s *seen) limited() bool {
	return s.other() && (s.status == 429 || s.status == 0 && s.says(rateWords))
}

func (s *seen) broken() bool {
	if !s.other() {
		return false
	}
	if s.status != 0 {
		return s.status >= 500
	}
	return s.says(overloadWords) || slices.ContainsFunc(lost, func(e error) bool { return s.is(e) })
}

// is looks for an error of the system.
func (s *seen) is(target error) (found bool) {
	each(s.err, func(e error) bool {
		n, ok := e.(syscall.Errno) //nolint:errorlint // each shows every error of the chain
		found = ok && errors.Is(n, target)
		return !found
	})
	return found
}

// unconnected: the sentence alone, and no status beside it.
func (s *seen) unconnected() bool {
	return s.other() && s.status == 0 && slices.Contains(s.texts, bareSentence)
}
