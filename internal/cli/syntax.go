package cli

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse reads the documents of a file. The problem says where the text stops
// being YAML; it is nil when all of it is.
func (s *source) parse(text string) ([]*yaml.Node, *problem) {
	docs, err := nodes(text)
	if err == nil {
		return docs, nil
	}
	p := s.broken(text, err)
	return nil, &p
}

// nodes reads all documents of a text.
func nodes(text string) ([]*yaml.Node, error) {
	var all []*yaml.Node
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &n)
	}
}

// mostProbes bounds how many beginnings of a file are parsed to find the line on
// which it breaks. The parser itself names the line on which the broken part of
// the file begins, or none.
const mostProbes = 600

var yamlLine = regexp.MustCompile(`line (\d+): `)

// broken finds line and column of a syntax error and says what to do.
func (s *source) broken(text string, err error) problem {
	why := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := yamlLine.FindStringSubmatch(why); m != nil {
		line, _ = strconv.Atoi(m[1])
		why = yamlLine.ReplaceAllString(why, "")
	}
	if len(s.lines) <= mostProbes {
		line = s.firstBroken()
	}
	line = min(max(1, line), len(s.lines))
	column, advice := s.advise(line, why)
	what := "YAML"
	if filepath.Ext(s.file) == ".json" {
		what = "JSON"
	}
	return s.at(line, column, "this is no %s: %s. %s", what, why, advice)
}

// firstBroken is the line after the longest beginning of the file that parses:
// the one with the error, or the one that opens what is never closed.
func (s *source) firstBroken() int {
	for n := len(s.lines) - 1; n > 0; n-- {
		if _, err := nodes(strings.Join(s.lines[:n], "\n")); err == nil {
			for n < len(s.lines)-1 && strings.TrimSpace(s.lines[n]) == "" {
				n++
			}
			return n + 1
		}
	}
	return 1
}

// advice says, for a word of the parser's message, what to do and which
// character of the line is meant.
var advice = []struct{ word, mark, text string }{
	{"end of stream", `"'`, "Close the quote that begins here."},
	{"document indicator", `"'`, "Close the quote that begins here."},
	{"',' or ']'", "[", "Close the list that begins here with ], or put a comma between its items."},
	{"',' or '}'", "{", "Close the brace that begins here with }, or put a comma between its fields."},
	{"node content", "[{]}", "Close the bracket that begins here, or put the value in quotes."},
	{"tab character", "\t", "Indent with blanks, not with tabs."},
	{"cannot start any token", "@`%&*|>\t", "Put the value in quotes; to indent, use blanks and not tabs."},
	{"mapping values are not allowed", "", "Put a value that holds a colon in quotes, or look at the indentation: this line continues the one before it."},
	{"expected ':'", "", "Put a colon after the field's name."},
	{"expected key", "", "Its indentation fits none of the lines before it."},
	{"'-' indicator", "", "Its indentation fits none of the lines before it."},
	{"escape character", `\`, `Write \\ for a backslash, or put the value in single quotes.`},
	{"alphabetic or numeric", "&*", "Put the value in quotes: it begins with a character that YAML keeps for itself."},
	{"unknown anchor", "*", "Put the value in quotes, or name an anchor that stands above."},
	{"control characters", "", "It is no text file."},
	{"UTF-8", "", "It is no text file in UTF-8."},
}

func (s *source) advise(line int, why string) (column int, text string) {
	for _, a := range advice {
		if strings.Contains(why, a.word) {
			return mark(s.lines[line-1], a.mark), a.text
		}
	}
	return mark(s.lines[line-1], ""), "Look at the indentation and the quotes around this line."
}

// mark is the column of the first of some characters that begins a value, else
// of the first character that is no blank.
func mark(line, chars string) int {
	runes := []rune(line)
	first := 1
	for i := len(runes) - 1; i >= 0; i-- {
		if runes[i] != ' ' && runes[i] != '\t' && runes[i] != '\r' {
			first = i + 1
		}
	}
	for i, r := range runes {
		begins := i == 0 || strings.ContainsRune(" \t:-[{,", runes[i-1]) || r == '\\'
		if begins && strings.ContainsRune(chars, r) {
			return i + 1
		}
	}
	return first
}
