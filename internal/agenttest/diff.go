package agenttest

import (
	"slices"
	"strings"
)

// pairing is a place in an alignment; -1 stands for nothing on that side.
type pairing struct{ left, right int }

// mostCells bounds the table of an alignment; longer lists are compared without it.
const mostCells = 4 << 20

// align pairs two lists so that the sum of the scores is highest and the order of
// both is kept. A score of 0 never pairs.
func align(left, right int, score func(i, j int) int) []pairing {
	if left*right > mostCells {
		return apart(0, left, 0, right)
	}
	best := make([][]int, left+1)
	for i := range best {
		best[i] = make([]int, right+1)
	}
	for i := left - 1; i >= 0; i-- {
		for j := right - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if s := score(i, j); s > 0 {
				best[i][j] = max(best[i][j], s+best[i+1][j+1])
			}
		}
	}
	var all []pairing
	i, j := 0, 0
	for i < left && j < right {
		s := score(i, j)
		switch {
		case s > 0 && best[i][j] == s+best[i+1][j+1]:
			all = append(all, pairing{i, j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			all = append(all, pairing{i, -1})
			i++
		default:
			all = append(all, pairing{-1, j})
			j++
		}
	}
	return append(all, apart(i, left, j, right)...)
}

// apart pairs nothing.
func apart(i, left, j, right int) []pairing {
	var all []pairing
	for ; i < left; i++ {
		all = append(all, pairing{i, -1})
	}
	for ; j < right; j++ {
		all = append(all, pairing{-1, j})
	}
	return all
}

// around is how many equal lines are shown beside one that differs.
const around = 2

// lines shows two texts line by line: - is expected, + came.
func lines(expected, came string) []string {
	a, b := strings.Split(expected, "\n"), strings.Split(came, "\n")
	pairs := align(len(a), len(b), func(i, j int) int {
		if a[i] == b[j] {
			return 1
		}
		return 0
	})
	var out []string
	quiet := false
	for n, p := range pairs {
		switch {
		case p.right < 0:
			out = append(out, "- "+seen(a[p.left], p.left, len(a)))
		case p.left < 0:
			out = append(out, "+ "+seen(b[p.right], p.right, len(b)))
		case beside(pairs, n):
			out = append(out, "  "+a[p.left])
		case !quiet:
			out = append(out, "  …")
		}
		quiet = p.left >= 0 && p.right >= 0 && !beside(pairs, n)
	}
	return out
}

// seen makes visible what a line ends with when that cannot be seen.
func seen(line string, at, all int) string {
	switch {
	case line == "" && at == all-1:
		return "(a line break at the end)"
	case strings.TrimRight(line, " \t\r") != line:
		return strings.ReplaceAll(line, "\r", "␍") + "␄"
	}
	return line
}

// beside tells whether a pair stands close to one that differs.
func beside(pairs []pairing, n int) bool {
	return slices.ContainsFunc(pairs[max(0, n-around):min(len(pairs), n+around+1)], func(p pairing) bool { return p.left < 0 || p.right < 0 })
}
