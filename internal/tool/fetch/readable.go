package fetch

import (
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

const (
	longestTitle = 300 // bytes
	leastPart    = 0.3 // of a page's text that its main part must have to stand for it
)

// readable gives a page's main content as Markdown, under its title, with links that
// are whole. A page that is too large or too deep for that is given as its bare text.
func readable(page string, at *url.URL) string {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil || costly(doc) {
		return bareText(page)
	}
	flatten(doc)
	title := titleOf(doc)
	clean(doc, baseOf(doc, at))
	out, err := markdown().ConvertNode(mainPart(doc))
	if err != nil {
		return bareText(page)
	}
	text := strings.TrimSpace(string(out))
	if heading := "# " + title; title != "" && !strings.HasPrefix(text, heading) {
		text = heading + "\n\n" + text
	}
	if text == "" {
		return ""
	}
	return text + "\n"
}

// markdown writes text as it is: a model reads through a stray star, and to find what
// would have to be escaped takes the square of a text's length.
func markdown() *converter.Converter {
	return converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithSkipEmptyRows(true)),
	))
}

// find is the first element with one of some names, or nil.
func find(n *html.Node, names ...string) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && slices.Contains(names, d.Data) {
			return d
		}
	}
	return nil
}

// words is all text below a node, with single blanks.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attribute(n *html.Node, name string) (string, bool) {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return "", false
	}
	return n.Attr[i].Val, true
}

func titleOf(doc *html.Node) string {
	for _, name := range []string{"title", "h1"} {
		if n := find(doc, name); n != nil {
			if t := words(n); t != "" {
				return window(t, longestTitle)
			}
		}
	}
	return ""
}

// baseOf is what links are relative to.
func baseOf(doc *html.Node, at *url.URL) *url.URL {
	if n := find(doc, "base"); n != nil {
		if to, ok := attribute(n, "href"); ok {
			if u, err := at.Parse(to); err == nil {
				return u
			}
		}
	}
	return at
}

// silent are the elements without anything to read.
var silent = []string{
	"script", "style", "noscript", "template", "iframe", "object", "embed", "svg", "canvas", "nav", "dialog",
	"button", "input", "select", "textarea", "head", "audio", "video",
}

// silentRoles are the same, said of any element.
var silentRoles = []string{"navigation", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar"}

// clean removes what is not to be read and makes links whole.
func clean(n *html.Node, at *url.URL) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || c.Type == html.ElementNode && mute(c) {
			n.RemoveChild(c)
		} else {
			link(c, at)
			clean(c, at)
		}
		c = next
	}
}

// mute tells whether an element is not for readers.
func mute(n *html.Node) bool {
	if slices.Contains(silent, n.Data) {
		return true
	}
	if _, is := attribute(n, "hidden"); is {
		return true
	}
	if v, _ := attribute(n, "aria-hidden"); v == "true" && n.Data != "body" {
		return true
	}
	if role, ok := attribute(n, "role"); ok && slices.Contains(silentRoles, role) {
		return true
	}
	switch n.Data {
	case "img":
		alt, _ := attribute(n, "alt")
		src, _ := attribute(n, "src")
		return strings.TrimSpace(alt) == "" || strings.HasPrefix(src, "data:")
	case "a":
		to, _ := attribute(n, "href")
		return strings.HasPrefix(to, "#") && slices.Contains([]string{"", "#", "¶", "§", "🔗"}, words(n))
	}
	return false
}

// link makes the target of a link or an image whole, and takes one off that leads
// nowhere.
func link(n *html.Node, at *url.URL) {
	for i := 0; i < len(n.Attr); i++ {
		a := &n.Attr[i]
		if a.Key != "href" && a.Key != "src" {
			continue
		}
		u, err := at.Parse(strings.TrimSpace(a.Val))
		if err != nil || strings.HasPrefix(a.Val, "#") || u.Scheme == "javascript" || u.Scheme == "data" {
			if n.Data == "a" { // its text stays
				n.Data, n.DataAtom, n.Attr = "span", 0, nil
				return
			}
			continue
		}
		a.Val = u.String()
	}
}

// mainPart is the element that holds what the page is about: what it calls so where
// that has enough of its text, else the body without what stands around.
func mainPart(doc *html.Node) *html.Node {
	body := find(doc, "body")
	if body == nil {
		return doc
	}
	all := len(words(body))
	enough := func(n *html.Node) bool { return float64(len(words(n))) >= leastPart*float64(all) }
	if n := called(body); n != nil && enough(n) {
		return n
	}
	around := surroundings(body)
	rest := all
	for _, n := range around {
		rest -= len(words(n))
	}
	if float64(rest) >= leastPart*float64(all) {
		for _, n := range around {
			n.Parent.RemoveChild(n)
		}
	}
	return body
}

// called is the main element, or the only article.
func called(body *html.Node) *html.Node {
	var articles []*html.Node
	for d := range body.Descendants() {
		if d.Type != html.ElementNode {
			continue
		}
		if role, _ := attribute(d, "role"); d.Data == "main" || role == "main" {
			return d
		}
		if d.Data == "article" {
			articles = append(articles, d)
		}
	}
	if len(articles) == 1 {
		return articles[0]
	}
	return nil
}

// surroundings are heads, feet and asides of the page itself, not those of an article.
func surroundings(n *html.Node) []*html.Node {
	var all []*html.Node
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || c.Data == "main" || c.Data == "article" {
			continue
		}
		if slices.Contains([]string{"header", "footer", "aside"}, c.Data) {
			all = append(all, c)
			continue
		}
		all = append(all, surroundings(c)...)
	}
	return all
}
