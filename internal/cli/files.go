package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile is the largest resource file that is read, in bytes.
const maxFile = 4 << 20

// readDocuments reads every resource of files, folders and `-`. What is wrong in
// any of them is answered for all, with file, line and column, so that nothing is
// applied from a file that is not sound.
func (c *app) readDocuments(paths []string) ([]*document, error) {
	if len(paths) == 0 {
		return nil, usage("name at least one file or folder with -f, or - for standard input")
	}
	var all []*document
	var faults problems
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return nil, usage("%v", err)
		}
		for _, file := range files {
			docs, found := c.readFile(file)
			all = append(all, docs...)
			faults = append(faults, found...)
		}
	}
	if len(faults) > 0 {
		return nil, exitError{exitUsage, faults}
	}
	if len(all) == 0 {
		return nil, usage("there is no resource in %s", strings.Join(paths, ", "))
	}
	return all, nil
}

// expand lists the resource files of a folder, or the file itself.
func expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, reasonOf(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(p)) {
			files = append(files, p)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no .yaml, .yml or .json file", path)
	}
	return files, err
}

func reasonOf(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// readFile reads the resources of one file.
func (c *app) readFile(file string) ([]*document, problems) {
	data, err := c.readAll(file)
	name := file
	if file == "-" {
		name = "standard input"
	}
	if err != nil {
		return nil, problems{{file: name, text: reasonOf(err)}}
	}
	src := newSource(name, string(data))
	parsed, broken := src.parse(string(data))
	if broken == nil {
		broken = src.strictJSON(file, string(data))
	}
	if broken != nil {
		return nil, problems{*broken}
	}
	var docs []*document
	var faults problems
	for _, root := range resourcesIn(parsed) {
		d, found := src.decode(root)
		if len(found) > 0 {
			faults = append(faults, found...)
			continue
		}
		localize(d.message, file)
		docs = append(docs, d)
	}
	return docs, faults
}

func (c *app) readAll(file string) ([]byte, error) {
	in := c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, err
}
