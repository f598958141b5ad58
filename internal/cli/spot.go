package cli

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/resource"
)

// problem is one fault of a file: where it is, and what to do about it.
type problem struct {
	file         string
	line, column int    // from 1; 0 when the whole file is meant
	text         string // what is wrong and what to write instead
	source       string // the line itself; "" when it is not shown
}

// Error is `file:line:column: text`, followed by the line with a mark.
func (p problem) Error() string {
	if p.line == 0 {
		return p.file + ": " + p.text
	}
	out := fmt.Sprintf("%s:%d:%d: %s", p.file, p.line, p.column, p.text)
	if strings.TrimSpace(p.source) == "" {
		return out
	}
	shown, column := excerpt(p.source, p.column)
	number := fmt.Sprintf("%4d", p.line)
	return fmt.Sprintf("%s\n%s | %s\n%s | %s^", out, number, shown, strings.Repeat(" ", len(number)), strings.Repeat(" ", column-1))
}

// problems are all faults that were found, in the order of the files.
type problems []problem

func (p problems) Error() string {
	texts := make([]string, len(p))
	for i, one := range p {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "\n")
}

// widest is how much of a line is shown, in characters.
const widest = 100

// excerpt is the part of a line around a column, on one line of the screen, and
// the column within it.
func excerpt(line string, column int) (string, int) {
	runes := []rune(strings.Map(blanked, line))
	column = max(1, min(column, len(runes)+1))
	from := 0
	if len(runes) > widest {
		from = max(0, min(column-1-widest/2, len(runes)-widest))
	}
	to := min(len(runes), from+widest)
	return strings.TrimRight(string(runes[from:to]), " "), column - from
}

// source is a file's text, line by line.
type source struct {
	file  string
	lines []string
}

func newSource(file, text string) *source {
	return &source{file: file, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
}

// at makes a problem of a position.
func (s *source) at(line, column int, format string, args ...any) problem {
	p := problem{file: s.file, line: line, column: column, text: fmt.Sprintf(format, args...)}
	if line > 0 && line <= len(s.lines) {
		p.source = s.lines[line-1]
	}
	return p
}

// spot finds what a field's path names, such as `spec.tools[0]`, or what comes
// closest to it above.
func spot(root *yaml.Node, path string) *yaml.Node {
	found, at := root, root
	for _, step := range steps(path) {
		key, value := child(at, step)
		if value == nil {
			break
		}
		found, at = value, value
		if value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode {
			found = key // a block is named by its key
		}
	}
	return found
}

// child is a field of a mapping, or an item of a list, and what names it.
func child(n *yaml.Node, step string) (key, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Value == step || resource.SnakeCase(k.Value) == resource.SnakeCase(step) {
				return k, n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if fmt.Sprint(i) == step {
				return item, item
			}
		}
	}
	return nil, nil
}

// steps cuts a path at its dots and brackets; what a bracket holds may be quoted.
func steps(path string) []string {
	var all []string
	for path != "" {
		if inside, ok := strings.CutPrefix(path, "["); ok {
			key, rest, _ := strings.Cut(inside, "]")
			all, path = append(all, strings.Trim(key, `"`)), rest
			continue
		}
		n := strings.IndexAny(path, ".[")
		switch n {
		case -1:
			return append(all, path)
		case 0:
			path = path[1:]
		default:
			all, path = append(all, path[:n]), path[n:]
		}
	}
	return slices.Clip(all)
}
