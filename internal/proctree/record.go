package proctree

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	recordSuffix = ".tree.json"
	asideSuffix  = ".unreadable"
	folderFile   = "folder-id"
)

// record is what Open needs to find a tree of an earlier process. It is written
// before the command runs. It is not synced: after a crash of the whole machine
// there is nothing left to find.
type record struct {
	ID      string            `json:"id"`
	Owner   map[string]string `json:"owner,omitempty"`
	Boot    string            `json:"boot"`
	Mode    Mode              `json:"mode"`
	Machine string            `json:"machine_boot"` // pids count within one boot of the machine
	Marker  string            `json:"marker"`
	Root    identity          `json:"root"`
	Space   string            `json:"pid_namespace,omitempty"`
	Started time.Time         `json:"started"`
}

// records is the folder.
type records struct {
	dir string
	id  string // random, tells the processes of two folders apart
	log *slog.Logger
}

// openRecords makes the folder when it is missing and learns its id.
func openRecords(dir string, log *slog.Logger) (*records, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fail(ErrDir, err, "the folder of process records %s cannot be made; check its rights", dir)
	}
	path := filepath.Join(dir, folderFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fail(ErrDir, err, "%s cannot be read; check its rights", path)
	}
	if id := strings.TrimSpace(string(data)); len(id) >= 16 {
		return &records{dir: dir, id: id, log: log}, nil
	}
	id := strings.ToLower(rand.Text())
	if err := replace(path, []byte(id+"\n")); err != nil {
		return nil, fail(ErrDir, err, "%s cannot be written; check its rights and the disk", path)
	}
	return &records{dir: dir, id: id, log: log}, nil
}

// marker is the value that the members of a tree carry.
func (r *records) marker(boot, id string) string { return r.id + "/" + boot + "/" + id }

// marked tells whether a marker is of this folder.
func (r *records) marked(mark string) bool { return strings.HasPrefix(mark, r.id+"/") }

func (r *records) path(rec record) string {
	sum := sha256.Sum256([]byte(rec.Marker))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12])+recordSuffix)
}

func (r *records) write(rec record) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return replace(r.path(rec), append(data, '\n'))
}

func (r *records) remove(rec record) {
	if err := os.Remove(r.path(rec)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Warn("a process record cannot be removed", "path", r.path(rec), "error", err)
	}
}

// list reads the records. What is none is set aside with a warning: it names no
// process that could be ended, and its members are found by their marker.
func (r *records) list() ([]record, error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(r.dir), "*"+recordSuffix))
	if err != nil {
		return nil, fail(ErrDir, err, "the records in %s cannot be listed", r.dir)
	}
	var all []record
	for _, path := range paths {
		var rec record
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &rec)
		}
		if err == nil && rec.Root.Pid > 0 && rec.Marker != "" && r.path(rec) == path {
			all = append(all, rec)
			continue
		}
		r.log.Warn("a process record is unreadable and was set aside", "path", path+asideSuffix, "error", err)
		if err := os.Rename(path, path+asideSuffix); err != nil {
			r.log.Warn("a process record cannot be set aside", "path", path, "error", err)
		}
	}
	return all, nil
}

// escapeGlob keeps the letters of a folder's name from meaning a pattern.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// replace writes a file so that a reader sees all of it or none.
func replace(path string, data []byte) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, data, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
