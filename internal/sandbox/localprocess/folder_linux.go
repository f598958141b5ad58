package localprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// folder is what is kept of one sandbox:
//
//	sandbox.json   whose it is, and how often it was started
//	workspace/     the folder inside
//	etc/           the few files of the system that are its own
type folder struct{ path, name string }

func (d *Driver) folder(k sandbox.Key) folder {
	name := sandbox.Name(k)
	return folder{path: filepath.Join(d.dir, name), name: name}
}

// facts are sandbox.json.
type facts struct {
	Scope sandbox.Scope `json:"scope"`
	ID    string        `json:"id"`
	Epoch int64         `json:"epoch"`
}

func (f folder) facts() string     { return filepath.Join(f.path, "sandbox.json") }
func (f folder) workspace() string { return filepath.Join(f.path, "workspace") }
func (f folder) etc() string       { return filepath.Join(f.path, "etc") }

func (f folder) exists() bool {
	_, err := os.Stat(f.facts())
	return err == nil
}

func (f folder) read() (sandbox.Key, int64, error) {
	data, err := os.ReadFile(f.facts())
	if err != nil {
		return sandbox.Key{}, 0, err
	}
	var kept facts
	if err := json.Unmarshal(data, &kept); err != nil {
		return sandbox.Key{}, 0, err
	}
	return sandbox.Key{Scope: kept.Scope, ID: kept.ID}, kept.Epoch, nil
}

// begin makes the folder ready for a start, and answers the start's epoch. The facts are
// written last: a folder without them is half made, and the next begin mends it.
func (f folder) begin(k sandbox.Key, root bool) (int64, error) {
	if !k.Scope.Keeps() { // of a server that was killed
		if err := f.remove(); err != nil {
			return 0, err
		}
	}
	_, epoch, err := f.read()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		epoch = 0
	}
	for _, dir := range []string{f.workspace(), f.etc()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
	}
	if root {
		if err := os.Lchown(f.workspace(), insideUser, insideGroup); err != nil {
			return 0, err
		}
	}
	for name, text := range map[string]string{
		"passwd": fmt.Sprintf("root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:%d:%d:agent:/workspace:/bin/sh\n", insideUser, insideGroup),
		"group":  fmt.Sprintf("root:x:0:\nagent:x:%d:\n", insideGroup),
		"hosts":  "127.0.0.1 localhost " + f.name + "\n",
	} {
		if err := os.WriteFile(filepath.Join(f.etc(), name), []byte(text), 0o644); err != nil { //nolint:gosec // read by the user inside
			return 0, err
		}
	}
	data, err := json.Marshal(facts{Scope: k.Scope, ID: k.ID, Epoch: epoch + 1})
	if err != nil {
		return 0, err
	}
	next := f.facts() + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return 0, err
	}
	return epoch + 1, os.Rename(next, f.facts())
}

// remove takes everything away. What the user inside made unreadable is made readable first.
func (f folder) remove() error {
	if err := os.Remove(f.facts()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err := os.RemoveAll(f.path)
	if err == nil || !errors.Is(err, os.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(f.path, func(path string, e os.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // to be removed
		}
		return nil
	})
	return os.RemoveAll(f.path)
}
