package agenttest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rewrite sets the text that an expectation of a turn equals, in the root of the
// test's document. It answers false when there is no such text of its own: what an
// alias stands for is not changed, since others use it as well.
func Rewrite(root *yaml.Node, turn int, path []string, text string) bool {
	n := root
	for _, step := range append([]string{"turns", strconv.Itoa(turn)}, path...) {
		if n = below(n, step); n == nil {
			return false
		}
	}
	if n.Kind != yaml.ScalarNode || n.Anchor != "" {
		return false
	}
	n.Value, n.Tag, n.Style = text, "!!str", 0
	if strings.Contains(text, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return true
}

// below is a field of a mapping, or an item of a list.
func below(n *yaml.Node, step string) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}
