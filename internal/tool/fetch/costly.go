package fetch

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// What a page may cost that is converted with its structure. Markdown repeats the marks
// of a quote or a list on each of its lines, and a table's cells as often as they span,
// so small pages can be made that would become very large.
const (
	mostNodes   = 60_000
	mostNesting = 32     // quotes, lists and tables within each other
	mostCells   = 20_000 // of one table
)

// nesting are the elements whose marks are repeated on each line.
var nesting = []string{"blockquote", "ul", "ol", "table"}

// costly tells whether a page is too large or nested too deep.
func costly(doc *html.Node) bool {
	nodes := 0
	var within func(n *html.Node, depth int) bool
	within = func(n *html.Node, depth int) bool {
		nodes++
		if n.Type == html.ElementNode && slices.Contains(nesting, n.Data) {
			depth++
		}
		if nodes > mostNodes || depth > mostNesting {
			return true
		}
		for c := range n.ChildNodes() {
			if within(c, depth) {
				return true
			}
		}
		return false
	}
	return within(doc, 0)
}

// flatten makes plain blocks of tables that would become too large.
func flatten(doc *html.Node) {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "table" || cells(n) <= mostCells {
			continue
		}
		for d := range n.Descendants() {
			if d.Type == html.ElementNode && slices.Contains([]string{"table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col"}, d.Data) {
				d.Data, d.DataAtom, d.Attr = "div", 0, nil
			}
		}
		n.Data, n.DataAtom, n.Attr = "div", 0, nil
	}
}

// cells is how many cells a table takes in Markdown, where all rows are of one width.
func cells(table *html.Node) int {
	rows, widest, width, spanned := 0, 0, 0, 0
	for n := range table.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "tr":
			rows, width = rows+1, 0
		case n.Data == "td" || n.Data == "th":
			across, down := span(n, "colspan"), span(n, "rowspan")
			width += across
			spanned += across * down
			widest = max(widest, width)
		}
		if spanned > mostCells {
			return spanned
		}
	}
	return max(spanned, rows*widest)
}

// span is a cell's width or height; one that is given in no number is 1.
func span(cell *html.Node, name string) int {
	v, _ := attribute(cell, name)
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, mostCells+1)
}

// bareText is the text of a page without its structure, in linear time.
func bareText(page string) string {
	var b strings.Builder
	in := html.NewTokenizer(strings.NewReader(page))
	skip := "" // the element whose text is none
	for {
		switch in.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String()) + "\n"
		case html.TextToken:
			if t := strings.Join(strings.Fields(string(in.Text())), " "); t != "" && skip == "" {
				b.WriteString(t + "\n")
			}
		case html.StartTagToken:
			if name, _ := in.TagName(); skip == "" && slices.Contains([]string{"script", "style", "noscript", "template"}, string(name)) {
				skip = string(name)
			}
		case html.EndTagToken:
			if name, _ := in.TagName(); string(name) == skip {
				skip = ""
			}
		}
	}
}
