package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// change is one small fault that is put into a file: the bytes from start to end become
// with.
type change struct {
	file       string // from the root
	fn         string // the function it is in; "" outside
	line       int
	start, end int
	with       string
	what       string // said in the report, with the code that is broken
}

// key names a change without its line, so that accepted.txt outlives edits elsewhere.
func (c change) key() string { return c.file + "\t" + c.fn + "\t" + c.what }

// finder collects the changes of one file.
type finder struct {
	fset *token.FileSet
	src  []byte
	file string
	fn   string
	all  []change
}

// changes finds what can be broken in a file, or in some of its functions.
func changes(name string, src []byte, only []string) ([]change, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, filepath.Base(name), src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{fset: fset, src: src, file: name}
	for _, d := range parsed.Decls {
		f.fn = ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.fn = fn.Name.Name
		}
		if len(only) > 0 && !slices.Contains(only, f.fn) {
			continue
		}
		ast.Inspect(d, f.visit)
	}
	return f.all, nil
}

func (f *finder) text(n ast.Node) string { return string(f.src[f.at(n.Pos()):f.at(n.End())]) }

func (f *finder) at(p token.Pos) int { return f.fset.Position(p).Offset }

// add notes that a node becomes something else.
func (f *finder) add(n ast.Node, with, format string, args ...any) {
	f.replace(n.Pos(), n.End(), with, format, args...)
}

func (f *finder) replace(from, to token.Pos, with, format string, args ...any) {
	f.all = append(f.all, change{
		file: f.file, fn: f.fn, line: f.fset.Position(from).Line, start: f.at(from), end: f.at(to),
		with: with, what: short(fmt.Sprintf(format, args...)),
	})
}

// visit finds the changes of one node.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.add(n, "", "clause `%s` removed", f.text(n))
		f.statements(n.Body)
	case *ast.CompositeLit:
		f.elements(n)
	case *ast.ReturnStmt:
		f.returns(n)
	case *ast.BasicLit:
		f.number(n)
	case *ast.Ident:
		f.constant(n)
	}
	return true
}

func (f *finder) condition(cond ast.Expr) {
	f.add(cond, "!("+f.text(cond)+")", "`%s` negated", f.text(cond))
}

// neighbours are the comparisons that differ at the bound.
var neighbours = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "=="}

func (f *finder) binary(n *ast.BinaryExpr) {
	if with, ok := neighbours[n.Op]; ok {
		f.replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with, "`%s` with %s", f.text(n), with)
	}
	switch n.Op {
	case token.LAND, token.LOR:
		f.add(n, f.text(n.X), "`%s` without its right side", f.text(n))
		f.add(n, f.text(n.Y), "`%s` without its left side", f.text(n))
	case token.ADD, token.SUB:
		f.add(n, f.text(n.X), "`%s` without its right side", f.text(n))
	}
}

// statements removes each that can go without leaving a variable unused.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.IfStmt, *ast.RangeStmt, *ast.BranchStmt:
			f.add(s, "", "`%s` removed", f.text(s))
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.add(s, "", "`%s` removed", f.text(s))
			}
		case *ast.ReturnStmt:
			if len(s.Results) == 0 {
				f.add(s, "", "return removed")
			}
		}
	}
}

// elements removes each element of a literal, and swaps neighbours of a list whose order
// may matter.
func (f *finder) elements(n *ast.CompositeLit) {
	for i, e := range n.Elts {
		end := e.End()
		if i+1 < len(n.Elts) {
			end = n.Elts[i+1].Pos()
		}
		f.replace(e.Pos(), end, "", "element `%s` removed", f.text(e))
		_, keyed := e.(*ast.KeyValueExpr)
		if next := i + 1; !keyed && next < len(n.Elts) {
			f.replace(e.Pos(), n.Elts[next].End(), f.text(n.Elts[next])+", "+f.text(e), "element `%s` behind its neighbour", f.text(e))
		}
	}
}

// returns forgets errors and answers.
func (f *finder) returns(n *ast.ReturnStmt) {
	for _, r := range n.Results {
		if id, ok := r.(*ast.Ident); ok && (id.Name == "nil" || id.Name == "true" || id.Name == "false") {
			continue
		}
		f.add(r, "nil", "`%s` answers nil for `%s`", f.text(n), f.text(r))
	}
}

func (f *finder) number(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
		f.add(n, strconv.FormatInt(v+1, 10), "%s for %s in %s", strconv.FormatInt(v+1, 10), n.Value, f.around(n))
	}
}

func (f *finder) constant(n *ast.Ident) {
	switch n.Name {
	case "true":
		f.add(n, "false", "false for true in %s", f.around(n))
	case "false":
		f.add(n, "true", "true for false in %s", f.around(n))
	}
}

// around is the line that holds a node.
func (f *finder) around(n ast.Node) string {
	from, to := f.at(n.Pos()), f.at(n.End())
	for from > 0 && f.src[from-1] != '\n' {
		from--
	}
	for to < len(f.src) && f.src[to] != '\n' {
		to++
	}
	return "`" + strings.TrimSpace(string(f.src[from:to])) + "`"
}
