package backup_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

// Archives that are not what they say are refused in one sentence, by verify and by
// restore, and nothing of them appears anywhere.
func TestBadArchivesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		spoil  func(t *testing.T, all []member) []member
	}{
		"altered database": {"BACKUP_DAMAGED", func(_ *testing.T, all []member) []member { all[1].data[5000] ^= 1; return all }},
		"altered artifact": {"BACKUP_DAMAGED", func(_ *testing.T, all []member) []member { all[3].data[7] ^= 1; return all }},
		"missing member":   {"BACKUP_DAMAGED", func(_ *testing.T, all []member) []member { return all[:3] }},
		"one more member": {"BACKUP_DAMAGED", func(_ *testing.T, all []member) []member {
			return append(all, member{"../../evil", []byte("x"), tar.TypeReg})
		}},
		"a link for a member": {"BACKUP_DAMAGED", func(_ *testing.T, all []member) []member {
			all[2] = member{all[2].name, []byte("/etc/passwd"), tar.TypeSymlink}
			return all
		}},
		"another order": {"BACKUP_DAMAGED", func(_ *testing.T, all []member) []member { all[1], all[2] = all[2], all[1]; return all }},
		"a name that leads out": {"BACKUP_DAMAGED", func(t *testing.T, all []member) []member {
			t.Helper()
			all[2].name = "settings/../../evil"
			return changed(t, all, func(m *backup.Manifest) { m.Members[1].Name = all[2].name })
		}},
		"a setting of no backup": {"BACKUP_DAMAGED", func(t *testing.T, all []member) []member {
			t.Helper()
			all[2].name = "settings/operator.token"
			return changed(t, all, func(m *backup.Manifest) { m.Members[1].Name = all[2].name })
		}},
		"an artifact under another name": {"BACKUP_DAMAGED", func(t *testing.T, all []member) []member {
			t.Helper()
			all[3].name = "artifacts/" + strings.Repeat("a", 64)
			return changed(t, all, func(m *backup.Manifest) { m.Members[2].Name = all[3].name })
		}},
		"a lie about a size": {"BACKUP_DAMAGED", func(t *testing.T, all []member) []member {
			t.Helper()
			return changed(t, all, func(m *backup.Manifest) { m.Members[0].Size = 10 })
		}},
		"a negative size": {"BACKUP_DAMAGED", func(t *testing.T, all []member) []member {
			t.Helper()
			return changed(t, all, func(m *backup.Manifest) { m.Members[0].Size = -1 })
		}},
		"newer form": {"BACKUP_NEWER", func(t *testing.T, all []member) []member {
			t.Helper()
			return changed(t, all, func(m *backup.Manifest) { m.Format = backup.Format + 1 })
		}},
		"another database": {"OTHER_STORE", func(t *testing.T, all []member) []member {
			t.Helper()
			return changed(t, all, func(m *backup.Manifest) { m.Store = "postgres" })
		}},
		"foreign archive": {"NOT_A_BACKUP", func(*testing.T, []member) []member {
			return []member{{"readme.txt", []byte("hello"), tar.TypeReg}}
		}},
		"empty archive": {"NOT_A_BACKUP", func(*testing.T, []member) []member { return nil }},
		"no manifest in its place": {"NOT_A_BACKUP", func(_ *testing.T, all []member) []member {
			all[0].data = []byte("hello")
			return all
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, _ := made(t)
			refused(t, c.reason, packed(t, c.spoil(t, members(t, file))))
		})
	}
}

// refused restores bytes, and compares the reason and what is left.
func refused(t *testing.T, reason string, data []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bad.tar.gz")
	must(t, os.WriteFile(file, data, 0o600))
	if _, err := backup.Verify(t.Context(), file); fault.ReasonOf(err) != reason && reason != "OTHER_STORE" {
		t.Errorf("verify says %v, want %s", err, reason)
	}
	dir := filepath.Join(t.TempDir(), "data")
	_, err := backup.Restore(t.Context(), file, target(dir))
	if fault.ReasonOf(err) != reason || strings.ContainsAny(fault.From(err).Message, "\n") {
		t.Errorf("restore says %v, want %s", err, reason)
	}
	if left, err := os.ReadDir(dir); err == nil {
		t.Errorf("it left %v", left)
	}
}

func TestATruncatedArchiveIsRefusedWhereverItEnds(t *testing.T) {
	t.Parallel()
	file, _ := made(t)
	data, err := os.ReadFile(file)
	must(t, err)
	for _, n := range []int{0, 1, 5, 11, 100, len(data) / 3, len(data) / 2, len(data) - 9, len(data) - 1} {
		short := filepath.Join(t.TempDir(), "short")
		must(t, os.WriteFile(short, data[:n], 0o600))
		if _, err := backup.Verify(t.Context(), short); fault.ReasonOf(err) != "BACKUP_DAMAGED" {
			t.Errorf("with %d of %d bytes: %v", n, len(data), err)
		}
	}
	for at := 12; at < len(data); at += len(data)/40 + 1 {
		spoiled := append([]byte(nil), data...)
		spoiled[at] ^= 0x10
		bad := filepath.Join(t.TempDir(), "bad")
		must(t, os.WriteFile(bad, spoiled, 0o600))
		_, err := backup.Verify(t.Context(), bad)
		if err == nil && bytes.Equal(unpacked(t, bad), unpacked(t, file)) {
			continue // another way to write the same
		}
		if fault.CodeOf(err) != fault.FailedPrecondition && fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("with another byte %d: %v", at, err)
		}
	}
	refused(t, "BACKUP_DAMAGED", append(data[:len(data):len(data)], "something more"...))
	refused(t, "NOT_A_BACKUP", []byte("this is a text and no archive"))
}

// A database of a newer release comes from a cadre that could open it.
func TestANewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t)
	must(t, sqlitetest.FromTheFuture(dir, 999))
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	_, err := backup.Write(t.Context(), source(dir), file)
	must(t, err)
	to := t.TempDir()
	if _, err := backup.Restore(t.Context(), file, target(to)); fault.ReasonOf(err) != "NEWER_SCHEMA" || !strings.Contains(err.Error(), "999") {
		t.Errorf("it says %v", err)
	}
	if sqlite.Present(to) {
		t.Error("the database is there all the same")
	}
}
