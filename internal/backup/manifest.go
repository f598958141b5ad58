// Package backup keeps and brings back what a data folder holds: the database, the
// artifacts that it refers to, and the settings that a person wrote. It knows no
// driver; what it needs of one is handed to it.
//
// A backup is one file: a compressed tar archive whose first member, manifest.json,
// names all others with size and digest. It appears under its name whole, or not at
// all. It holds no key: keys are named by fingerprint.
//
// Restore believes nothing of a file before all digests were compared. It replaces a
// database only when it was told to, and then sets the old one aside.
package backup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Format is the version of the archive's form. Archives of later ones are refused.
const Format = 1

// Names in an archive.
const (
	manifestName   = "manifest.json"
	databaseName   = "database"
	settingsFolder = "settings"
	artifactFolder = "artifacts"
)

// settings are the files of a data folder that a person writes.
var settings = []string{"models.json"}

// Limits of what is believed of an archive before its digests are.
const (
	largestManifest = 64 << 20
	largestSetting  = 16 << 20
)

// Manifest says what a backup holds.
type Manifest struct {
	Format    int       `json:"format"`
	Cadre     string    `json:"cadre"` // the version that made it
	CreatedAt time.Time `json:"createdAt"`
	Store     string    `json:"store"`            // the database's driver
	Schema    int64     `json:"schema,omitempty"` // 0 when the database is not in the archive
	Database  string    `json:"database,omitempty"`
	Newest    time.Time `json:"newest,omitzero"` // when the database was written last
	Keys      []Key     `json:"keys"`
	Members   []Member  `json:"members"`
	// Lost are digests of artifacts that the database refers to and whose bytes were
	// gone or damaged.
	Lost []string `json:"lost,omitempty"`
}

// Key is a secret that the installation had when the backup was made.
type Key struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
}

// Member is a file of the archive.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Bytes is the size of all members together.
func (m Manifest) Bytes() (sum int64) {
	for _, f := range m.Members {
		sum += f.Size
	}
	return sum
}

// Artifacts counts those that the archive holds.
func (m Manifest) Artifacts() (n int) {
	for _, f := range m.Members {
		if f.artifact() {
			n++
		}
	}
	return n
}

func (f Member) artifact() bool { return path.Dir(f.Name) == artifactFolder }

// setting is the file's name in the data folder; "" for other members.
func (f Member) setting() string {
	if name, ok := strings.CutPrefix(f.Name, settingsFolder+"/"); ok {
		return name
	}
	return ""
}

// parse reads a manifest and refuses what this release does not write.
func parse(data []byte) (Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&m); err != nil || m.Format == 0 {
		return m, notABackup(err)
	}
	if m.Format > Format {
		return m, fault.New(fault.FailedPrecondition, "BACKUP_NEWER",
			"this backup was made by a newer cadre (%s, form %d): use that one, or a later one, to restore it", m.Cadre, m.Format)
	}
	seen := map[string]bool{}
	for _, f := range m.Members {
		if seen[f.Name] || f.Size < 0 || !f.known() {
			return m, altered("its manifest names %.100q, which no backup holds so", f.Name)
		}
		seen[f.Name] = true
	}
	return m, nil
}

// known says whether a backup has members of that name: so that no name leads out of
// the folder that it is meant for.
func (f Member) known() bool {
	if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 {
		return false
	}
	switch {
	case f.Name == databaseName:
		return true
	case f.artifact():
		return path.Base(f.Name) == f.SHA256 && f.Name == path.Join(artifactFolder, f.SHA256)
	}
	for _, s := range settings {
		if f.setting() == s {
			return f.Size <= largestSetting
		}
	}
	return false
}

func notABackup(err error) error {
	return fault.New(fault.InvalidArgument, "NOT_A_BACKUP", "this file is no backup of Cadre: name one that `cadre backup` made").Because(err)
}

func altered(format string, args ...any) *fault.Fault {
	return fault.New(fault.FailedPrecondition, "BACKUP_DAMAGED", "this backup is damaged or was altered, and nothing of it is used: "+format+"; take another backup", args...)
}

func truncated(err error) error {
	return fault.New(fault.FailedPrecondition, "BACKUP_DAMAGED", "this backup is not whole: it was cut short or is damaged, and nothing of it is used; take another backup").Because(err)
}
