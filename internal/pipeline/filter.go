package pipeline

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// ParseFilter reads comparisons joined by AND, a part of the language of
// AIP-160: `metadata.labels.team = "core" AND phase != failed`.
func ParseFilter(k Kind, text string) ([]store.Condition, error) {
	words, err := lex(text)
	if err != nil {
		return nil, err
	}
	var all []store.Condition
	for len(words) > 0 {
		if len(all) > 0 {
			if !strings.EqualFold(words[0].text, "AND") || words[0].quoted {
				return nil, badFilter(text, "comparisons are joined by AND; found %q", words[0].text)
			}
			words = words[1:]
		}
		if len(words) < 3 || words[0].op || !words[1].op || words[2].op {
			return nil, badFilter(text, "a comparison is `field operator value`, such as `slug = \"reviewer\"`")
		}
		column, err := columnOf(k, words[0].text)
		if err != nil {
			return nil, err
		}
		all = append(all, store.Condition{Column: column, Op: store.Op(words[1].text), Value: words[2].text})
		words = words[3:]
	}
	return all, nil
}

// ParseOrder reads `created_at desc, name`. The default is the newest first.
func ParseOrder(k Kind, text string) ([]store.Order, error) {
	if strings.TrimSpace(text) == "" {
		return []store.Order{{Column: store.Column{Name: "created_at"}, Desc: true}}, nil
	}
	var all []store.Order
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		desc := len(words) == 2 && strings.EqualFold(words[1], "desc")
		if len(words) == 0 || len(words) > 2 || len(words) == 2 && !desc && !strings.EqualFold(words[1], "asc") {
			return nil, fault.New(fault.InvalidArgument, "BAD_ORDER", "%q is no order: write fields separated by commas, each optionally followed by asc or desc", text)
		}
		column, err := columnOf(k, words[0])
		if err != nil {
			return nil, err
		}
		all = append(all, store.Order{Column: column, Desc: desc})
	}
	return all, nil
}

// columnOf finds the column of a field's path. The kind's indexed fields may be
// named by their last part alone.
func columnOf(k Kind, path string) (store.Column, error) {
	full := resource.SnakeCase(path)
	name := strings.TrimPrefix(full, "metadata.")
	if label, ok := strings.CutPrefix(strings.TrimPrefix(path, "metadata."), "labels."); ok && label != "" {
		return store.Column{Name: "label", Label: label}, nil
	}
	if slices.Contains(store.Columns, name) {
		return store.Column{Name: name}, nil
	}
	for i, field := range k.Index {
		if full == field || full == field[strings.LastIndexByte(field, '.')+1:] {
			return store.Column{Name: "index", Index: i}, nil
		}
	}
	known := append(slices.Clone(store.Columns), k.Index...)
	return store.Column{}, fault.New(fault.InvalidArgument, "UNKNOWN_FIELD", "%s cannot be listed by %q; the fields are %s and labels.<key>.%s",
		resource.Meta(k.Kind).GetPlural(), path, strings.Join(known, ", "), hint(full, known))
}

// hint finds what was probably meant, also by the last part of a known path.
func hint(word string, known []string) string {
	if h := near.Hint(word, known); h != "" {
		return h
	}
	for _, path := range known {
		if near.Word(word, []string{path[strings.LastIndexByte(path, '.')+1:]}) != "" {
			return near.Hint(path, []string{path})
		}
	}
	return ""
}

type word struct {
	text   string
	op     bool
	quoted bool
}

func lex(text string) ([]word, error) {
	var words []word
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case unicode.IsSpace(rune(c)):
			i++
		case c == '"' || c == '\'':
			value, n, ok := quoted(text[i:])
			if !ok {
				return nil, badFilter(text, "a quote is not closed")
			}
			words, i = append(words, word{text: value, quoted: true}), i+n
		case strings.IndexByte("=!<>:", c) >= 0:
			n := 1
			if i+1 < len(text) && text[i+1] == '=' && c != '=' && c != ':' {
				n = 2
			}
			op := text[i : i+n]
			if op == "!" {
				return nil, badFilter(text, "the operators are =, !=, <, <=, >, >= and :")
			}
			words, i = append(words, word{text: op, op: true}), i+n
		default:
			n := strings.IndexAny(text[i:], " \t\n\r=!<>:\"'")
			if n < 0 {
				n = len(text) - i
			}
			words, i = append(words, word{text: text[i : i+n]}), i+n
		}
	}
	return words, nil
}

// quoted reads a quoted value; a backslash takes the next character as it is.
func quoted(text string) (value string, length int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] == text[0]:
			return b.String(), i + 1, true
		default:
			b.WriteByte(text[i])
		}
	}
	return "", 0, false
}

func badFilter(text, format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "BAD_FILTER", "%q is no filter: "+format, append([]any{text}, args...)...)
}
