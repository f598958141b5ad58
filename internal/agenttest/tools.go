package agenttest

import (
	"fmt"
	"strings"
)

// exactly compares all calls, in order.
func exactly(expected []Call, came []Done) []Difference {
	fits := len(expected) == len(came)
	for i := range min(len(expected), len(came)) {
		fits = fits && len(expected[i].misses(came[i])) == 0
	}
	if fits {
		return nil
	}
	return []Difference{{What: "tools", Lines: aligned(expected, came, false)}}
}

// including looks for calls in order, with others between them.
func including(expected []Call, came []Done) []Difference {
	at := 0
	for _, d := range came {
		if at < len(expected) && len(expected[at].misses(d)) == 0 {
			at++
		}
	}
	if at == len(expected) {
		return nil
	}
	return []Difference{{What: "toolsInclude", Lines: aligned(expected, came, true)}}
}

// aligned shows two lists of calls side by side: calls of one name stand together,
// with what they miss below; - is expected and did not come, + came and was not expected.
func aligned(expected []Call, came []Done, others bool) []string {
	var out []string
	pairs := align(len(expected), len(came), func(i, j int) int {
		switch {
		case len(expected[i].misses(came[j])) == 0:
			return 3
		case expected[i].Name == came[j].Name:
			return 1
		}
		return 0
	})
	for _, p := range pairs {
		switch {
		case p.right < 0:
			out = append(out, "- "+expected[p.left].show())
		case p.left < 0 && others:
			out = append(out, "  "+came[p.right].show())
		case p.left < 0:
			out = append(out, "+ "+came[p.right].show())
		default:
			misses := expected[p.left].misses(came[p.right])
			if len(misses) == 0 {
				out = append(out, "  "+came[p.right].show())
				continue
			}
			out = append(out, "! "+came[p.right].show())
			for _, m := range misses {
				out = append(out, "    "+m)
			}
		}
	}
	if len(out) == 0 {
		return []string{"(no calls)"}
	}
	return out
}

// misses says in which ways a call is not the expected one.
func (c Call) misses(d Done) []string {
	if c.Name != d.Name {
		return []string{fmt.Sprintf("name: %s -> %s", c.Name, d.Name)}
	}
	var all []string
	if c.Arguments != nil {
		got, err := decode(d.Arguments)
		if err != nil {
			return []string{"- arguments " + show(c.Arguments), "+ no JSON: " + d.Arguments}
		}
		all = append(all, within("arguments", c.Arguments, got)...)
	}
	if c.State != "" && c.State != d.State {
		all = append(all, "- state "+c.State, "+ state "+d.State)
	}
	if c.Result != nil {
		for _, diff := range c.Result.judge("result", d.Result, nil) {
			all = append(all, diff.What+":")
			for _, l := range diff.Lines {
				all = append(all, "  "+l)
			}
		}
	}
	return all
}

// show writes an expected call on one line.
func (c Call) show() string {
	parts := []string{c.Name}
	if c.Arguments != nil {
		parts = append(parts, show(c.Arguments))
	}
	if c.State != "" {
		parts = append(parts, "("+c.State+")")
	}
	return strings.Join(parts, " ")
}

// show writes a call that came on one line.
func (d Done) show() string {
	return fmt.Sprintf("%s %s (%s)", d.Name, short(strings.ReplaceAll(d.Arguments, "\n", " ")), d.State)
}
