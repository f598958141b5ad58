package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/agenttest"
)

// workspace makes the folder that the agent works in.
func (p *playing) workspace() error {
	w := p.test.Workspace
	if w == nil {
		return nil
	}
	p.folder = filepath.Join(p.dir, "workspaces", fmt.Sprint(p.number+1))
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if w.Copy != "" {
		if err := os.CopyFS(p.folder, os.DirFS(p.path(w.Copy))); err != nil {
			return fmt.Errorf("the folder %s cannot be copied: %w", p.path(w.Copy), err)
		}
	}
	for name, text := range w.Files {
		file := filepath.Join(p.folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// read gives a file of the workspace, never one outside of it.
func (p *playing) read(name string) (string, bool, error) {
	root, err := os.OpenRoot(p.folder)
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	data, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(data), err == nil, err
}

// recording is the file that the server records to, until the test has ended.
func (p *playing) recording() string {
	if p.record == "" {
		return ""
	}
	return p.record + ".recording"
}

// beginRecording makes way for a new recording; the old one stays until there is one.
func (p *playing) beginRecording() error {
	if p.record == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.record), 0o755); err != nil {
		return err
	}
	return gone(os.Remove(p.recording()))
}

// endRecording puts the new recording in the place of the old one, unless the test
// could not be played to its end. It answers err, or what went wrong.
func (p *playing) endRecording(err error) error {
	switch {
	case p.record == "":
		return err
	case err != nil || p.result.Turns < len(p.test.Turns) || p.endedOtherwise():
		return errors.Join(err, gone(os.Remove(p.recording())))
	}
	if err := os.Rename(p.recording(), p.record); err != nil {
		return fmt.Errorf("the recording was not made: %w", err)
	}
	p.result.Recorded = p.test.Cassette
	return nil
}

// endedOtherwise tells whether a turn ended in another way than expected: what the
// provider said then, such as an error, is no recording to keep.
func (p *playing) endedOtherwise() bool {
	return slices.ContainsFunc(p.result.Failures, func(f testFailure) bool { return f.What == "phase" || f.What == "error" || f.What == "segmentLimit" })
}

// gone takes a file that was not there for one that was removed.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// update rewrites the texts that were expected to be equal to something else.
func (p *playing) update() error {
	file, err := filepath.EvalSymlinks(p.file) // the file that a link leads to is the one to change
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	docs, err := nodes(string(data))
	if err != nil || len(docs) != 1 || len(docs[0].Content) != 1 {
		return errors.Join(err, errors.New("the test's file changed while it ran"))
	}
	var left []testFailure
	for i, r := range p.rewritten {
		if r.Path == nil || !agenttest.Rewrite(docs[0].Content[0], r.turn, r.Path, r.Came) {
			left = append(left, p.result.Failures[i])
			continue
		}
		p.result.Updated++
	}
	p.result.Failures = left
	if p.result.Updated == 0 {
		return nil
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(docs[0]), e.Close()); err != nil {
		return err
	}
	return replaceFile(file, out.Bytes())
}

// replaceFile writes a file as a whole, or not at all.
func replaceFile(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(next, path)
}
