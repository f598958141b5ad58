package store

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Step is one migration of a schema. Each is a transaction of its own.
type Step struct {
	Version int64
	Name    string
}

// Steps are those of a chain of migrations, the files `migrations/00001_name.sql`, in
// their order.
func Steps(chain fs.FS) ([]Step, error) {
	files, err := fs.Glob(chain, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]Step, len(files))
	for i, file := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		if all[i].Version, err = strconv.ParseInt(number, 10, 64); err != nil {
			return nil, fmt.Errorf("the migration %s has no number: %w", file, err)
		}
		all[i].Name = strings.ReplaceAll(name, "_", " ")
	}
	slices.SortFunc(all, func(a, b Step) int { return int(a.Version - b.Version) })
	return all, nil
}

// Plan notes in an inspection where a chain of steps leads and which of them are
// left. NEWER_SCHEMA when the database has come further than the chain.
func (i *Inspection) Plan(steps []Step) error {
	i.Release = steps[len(steps)-1].Version
	i.Pending = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Version <= i.Schema })
	if i.Schema > i.Release {
		return NewerSchema(i.Schema, i.Release)
	}
	return nil
}

// NewerSchema is the fault for a database that a newer release wrote.
func NewerSchema(has, newest int64) *fault.Fault {
	return ErrNewerSchema.Saying("the database has schema v%d and this cadre knows up to v%d: start the newer cadre, or restore a backup made by this one", has, newest)
}

// MigrationFailed is the fault of a step that failed. The database stays at the step
// before, and goes on from there when it is opened again.
func MigrationFailed(version int64, cause error) *fault.Fault {
	return fault.New(fault.FailedPrecondition, "MIGRATION_FAILED",
		"migrate to v%d: the step failed and nothing of it was written: %v. See to it and start again", version, cause).
		With("version", strconv.FormatInt(version, 10)).Because(cause)
}
