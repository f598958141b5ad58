package cli

import "go.yaml.in/yaml/v3"

// mostNodes bounds what the aliases of a resource may expand to.
const mostNodes = 100_000

// unaliased is a copy of a node in which every alias is replaced by what it
// stands for. It stops, with false, when budget nodes are not enough: a few lines
// of aliases to aliases would fill the memory.
func unaliased(n *yaml.Node, budget *int) (*yaml.Node, bool) {
	if *budget--; *budget < 0 {
		return n, false
	}
	at := *n
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil {
			return n, false
		}
		at = *n.Alias
		at.Line, at.Column = n.Line, n.Column
	}
	at.Anchor, at.Alias = "", nil
	at.HeadComment, at.LineComment, at.FootComment = "", "", ""
	content := make([]*yaml.Node, len(at.Content))
	for i, c := range at.Content {
		var ok bool
		if content[i], ok = unaliased(c, budget); !ok {
			return n, false
		}
	}
	at.Content = content
	return &at, true
}

// isNull says whether a node holds nothing.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
