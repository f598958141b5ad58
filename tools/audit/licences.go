package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// finding is what one licence file says.
type finding struct {
	file string   // relative to the module
	ids  []string // SPDX identifiers in the order of the text
	part float64  // percent of the text that is known
}

// knownEnough is the part of a licence file, in percent, that must be known
// text; the rest is names, years and thanks.
const knownEnough = 75

// licenceFile matches the names that licences are kept under.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$`)

// readLicences finds the licence files that cover the module's used packages.
func (m *module) readLicences() error {
	if m.dir == "" {
		return fmt.Errorf("%s %s is not in the module cache; run go mod download", m.path, m.version)
	}
	folders := map[string]bool{}
	for _, p := range m.packages {
		for dir := p; ; dir = filepath.Dir(dir) {
			folders[dir] = true
			if dir == m.dir || len(dir) <= len(m.dir) {
				break
			}
		}
	}
	folders[m.dir] = true
	for dir := range folders {
		if err := m.readFolder(dir); err != nil {
			return err
		}
	}
	slices.SortFunc(m.licences, func(a, b finding) int { return cmp.Compare(a.file, b.file) })
	return nil
}

// readFolder adds the licence files of one folder.
func (m *module) readFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !licenceFile.MatchString(name) || filepath.Ext(name) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(m.dir, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		m.licences = append(m.licences, scan(rel, text))
	}
	return nil
}

// scan recognizes the licences in a text.
func scan(file string, text []byte) finding {
	cov := licensecheck.Scan(text)
	f := finding{file: file, part: cov.Percent}
	for _, match := range cov.Match {
		if !slices.Contains(f.ids, match.ID) {
			f.ids = append(f.ids, match.ID)
		}
	}
	return f
}

// summary names the module's licences, each once.
func (m *module) summary() string {
	var ids []string
	for _, f := range m.licences {
		for _, id := range f.ids {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	switch _, decided := decisions[m.path]; {
	case decided:
		return "see tools/audit/accepted.go"
	case len(ids) == 0:
		return "unknown"
	}
	return strings.Join(ids, ", ")
}

// refused says why the module needs a decision, or "".
func (m *module) refused() string {
	if _, decided := decisions[m.path]; decided {
		return ""
	}
	if len(m.licences) == 0 {
		return "has no licence file"
	}
	for _, f := range m.licences {
		if _, decided := decisions[m.path+"/"+f.file]; decided {
			continue
		}
		if len(f.ids) == 0 || f.part < knownEnough {
			return fmt.Sprintf("%s is not a licence text that we know (%.0f %% recognized: %s)", f.file, f.part, strings.Join(f.ids, ", "))
		}
		for _, id := range f.ids {
			if !accepted[id] {
				return fmt.Sprintf("%s is under %s", f.file, id)
			}
		}
	}
	return ""
}
