package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// generatedFolders are the folders under gen/ that this program owns whole.
var generatedFolders = []string{"go", "openapi", "schema"}

// output holds the files to write by path relative to gen/, slash-separated.
type output map[string][]byte

// put adds a file. Two files of one path are an error.
func (o output) put(path string, content []byte) error {
	if _, twice := o[path]; twice {
		return fmt.Errorf("two generated files are called %s", path)
	}
	o[path] = content
	return nil
}

// write replaces the generated folders under dir with o. Files whose bytes
// stay the same are not touched, so that build caches stay warm.
func (o output) write(dir string) error {
	if err := o.removeOld(dir); err != nil {
		return err
	}
	return o.writeOver(dir)
}

// writeOver writes o under dir and leaves everything else there alone.
func (o output) writeOver(dir string) error {
	paths := make([]string, 0, len(o))
	for p := range o {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, p := range paths {
		name := filepath.Join(dir, filepath.FromSlash(p))
		if old, err := os.ReadFile(name); err == nil && string(old) == string(o[p]) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, o[p], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeOld deletes files that o does not hold, and folders left empty.
func (o output) removeOld(dir string) error {
	for _, folder := range generatedFolders {
		var folders []string
		err := filepath.Walk(filepath.Join(dir, folder), func(p string, info os.FileInfo, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if info.IsDir() {
				folders = append(folders, p)
				return nil
			}
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				return err
			}
			if _, kept := o[filepath.ToSlash(rel)]; kept {
				return nil
			}
			return os.Remove(p)
		})
		if err != nil {
			return err
		}
		for i := len(folders) - 1; i >= 0; i-- {
			if entries, err := os.ReadDir(folders[i]); err == nil && len(entries) == 0 {
				if err := os.Remove(folders[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
