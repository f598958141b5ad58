package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// file is what the rules know of one Go file.
type file struct {
	name    string // relative to the root, slash-separated
	dir     string // its folder; "." at the root
	test    bool   // its name ends in _test.go
	doc     bool   // it has a package comment
	pkg     string // the package's name
	imports []imported
	inits   []int // lines of init functions
	sleeps  []int // lines that call time.Sleep
	place   place
}

// imported is one import.
type imported struct {
	path  string
	line  int
	ours  bool   // of this module
	dir   string // its folder when it is ours
	blank bool   // imported for its effects only
}

// parse reads the module's Go files in the order of their names.
func parse(root fs.FS) ([]*file, error) {
	var files []*file
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if skipped(root, name) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go":
			return nil
		}
		f, err := parseFile(root, name)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// skipped tells whether a folder holds no code of this module.
func skipped(root fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

// parseFile reads one file.
func parseFile(root fs.FS, name string) (*file, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{
		name: name,
		dir:  path.Dir(name),
		test: strings.HasSuffix(name, "_test.go"),
		doc:  syntax.Doc != nil && strings.TrimSpace(syntax.Doc.Text()) != "",
		pkg:  syntax.Name.Name,
	}
	f.place = placeOf(f.dir)
	for _, spec := range syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imp := imported{path: p, line: set.Position(spec.Pos()).Line}
		imp.blank = spec.Name != nil && spec.Name.Name == "_"
		if p == Module {
			imp.ours, imp.dir = true, "."
		} else if rest, ok := strings.CutPrefix(p, Module+"/"); ok {
			imp.ours, imp.dir = true, rest
		}
		f.imports = append(f.imports, imp)
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				f.inits = append(f.inits, set.Position(n.Pos()).Line)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" {
				f.sleeps = append(f.sleeps, set.Position(n.Pos()).Line)
			}
		}
		return true
	})
	return f, nil
}
