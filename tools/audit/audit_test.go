package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

// moduleWith makes a module in a temporary folder whose package lies in sub/pkg.
func moduleWith(t *testing.T, files map[string]string) *module {
	t.Helper()
	dir := t.TempDir()
	pkg := filepath.Join(dir, "sub", "pkg")
	if err := os.MkdirAll(pkg, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := &module{path: "example.com/m", version: "v1.0.0", dir: dir, packages: []string{pkg}}
	if err := m.readLicences(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPermissiveLicencesPass(t *testing.T) {
	t.Parallel()
	m := moduleWith(t, map[string]string{"LICENSE": mit, "sub/COPYING.txt": mit})
	if why := m.refused(); why != "" {
		t.Error(why)
	}
	if got := m.summary(); got != "MIT" {
		t.Errorf("got %s", got)
	}
	if len(m.licences) != 2 {
		t.Errorf("read %d files, want the one at the top and the one above the package", len(m.licences))
	}
}

func TestOthersAreRefused(t *testing.T) {
	t.Parallel()
	gpl := `This program is free software: you can redistribute it and/or modify it under
the terms of the GNU General Public License as published by the Free Software
Foundation, either version 3 of the License, or (at your option) any later
version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY
WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A
PARTICULAR PURPOSE. See the GNU General Public License for more details.

You should have received a copy of the GNU General Public License along with
this program. If not, see <https://www.gnu.org/licenses/>.
`
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no file", nil, "has no licence file"},
		{"unknown text", map[string]string{"LICENSE": "All rights reserved, and more words than anyone knows.\n"}, "not a licence text that we know"},
		{"copyleft", map[string]string{"LICENSE": gpl}, "is under GPL-3.0"},
		{"copyleft below a permissive one", map[string]string{"LICENSE": mit, "sub/LICENSE": gpl}, "is under GPL-3.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if why := moduleWith(t, c.files).refused(); !strings.Contains(why, c.want) {
				t.Errorf("got %q, want %q in it", why, c.want)
			}
		})
	}
}
