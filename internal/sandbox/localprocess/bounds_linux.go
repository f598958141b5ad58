package localprocess

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groups are the control groups of this server's sandboxes: of version 2, of version 1, or
// none. Without them a sandbox is bounded process by process.
type groups struct {
	v2     string            // the folder, where version 2 can be used
	v1     map[string]string // by controller: memory, pids, cpu
	usable bool
}

// String is what a log says of it.
func (g groups) String() string {
	switch {
	case g.v2 != "":
		return "cgroup v2"
	case g.usable:
		return "cgroup v1"
	}
	return "rlimit"
}

const groupRoot = "/sys/fs/cgroup"

// openGroups makes a group for this server's sandboxes where the system lets it.
func openGroups(owner string) groups {
	name := "cadre-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(owner))
	if held, err := os.ReadFile(filepath.Join(groupRoot, "cgroup.subtree_control")); err == nil {
		dir := filepath.Join(groupRoot, name)
		if containsAll(string(held), "memory", "pids", "cpu") && os.MkdirAll(dir, 0o755) == nil && //nolint:gosec // the mode of control groups
			os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids +cpu"), 0o600) == nil {
			return groups{v2: dir, usable: true}
		}
		return groups{}
	}
	g := groups{v1: map[string]string{}, usable: true}
	for _, controller := range []string{"memory", "pids", "cpu"} {
		dir := filepath.Join(groupRoot, controller, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // the mode of control groups
			g.close()
			return groups{}
		}
		g.v1[controller] = dir
	}
	return g
}

func containsAll(text string, words ...string) bool {
	have := strings.Fields(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, w) })
}

// close removes the server's groups; one in which something is left stays.
func (g groups) close() {
	for _, dir := range g.dirs() {
		below, _ := filepath.Glob(filepath.Join(dir, "sbx-*"))
		for _, one := range append(below, dir) {
			_ = os.Remove(one)
		}
	}
}

func (g groups) dirs() []string {
	if g.v2 != "" {
		return []string{g.v2}
	}
	return slices.Collect(maps.Values(g.v1))
}

// emptied is how often, and emptyWait how long, the kernel is given for the last of a group.
const (
	emptied   = 50
	emptyWait = 10 * time.Millisecond
)

// remove takes a sandbox's groups away, whose processes have ended: the kernel may have them
// in the group for a moment yet.
func (g groups) remove(name string) {
	for _, dir := range g.dirs() {
		for range emptied {
			if err := os.Remove(filepath.Join(dir, name)); err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			<-time.NewTimer(emptyWait).C
		}
	}
}

// setting is one bound of a control group.
type setting struct{ controller, file, value string }

// cpuPeriod is what processors are counted over, in microseconds.
const cpuPeriod = 100_000

// settings are the bounds as control groups want them.
func (d *Driver) settings() []setting {
	quota := strconv.FormatInt(int64(d.limits.CPUs*cpuPeriod), 10)
	memory, pids := strconv.FormatInt(d.limits.Memory, 10), strconv.FormatInt(d.limits.PIDs, 10)
	if d.groups.v2 != "" {
		return []setting{
			{"", "memory.max", memory}, {"", "memory.swap.max", "0"}, {"", "pids.max", pids}, {"", "cpu.max", quota + " " + strconv.Itoa(cpuPeriod)},
		}
	}
	return []setting{
		{"memory", "memory.limit_in_bytes", memory}, {"pids", "pids.max", pids},
		{"cpu", "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)}, {"cpu", "cpu.cfs_quota_us", quota},
	}
}

// optional are settings that some kernels lack.
const optional = "memory.swap.max"

// bound bounds a sandbox before anything runs in it.
func (d *Driver) bound(name string, pids ...int) error {
	if d.groups.usable {
		if err := d.group(name, pids); err != nil {
			return err
		}
	}
	first := pids[len(pids)-1]
	for _, l := range d.rlimits() {
		if err := unix.Prlimit(first, l.resource, &unix.Rlimit{Cur: l.most, Max: l.most}, nil); err != nil {
			return fmt.Errorf("bound %s: %w", l.name, err)
		}
	}
	return nil
}

// group makes the sandbox's control group and moves the processes into it.
func (d *Driver) group(name string, pids []int) error {
	dirs := map[string]string{"": d.groups.v2}
	if d.groups.v2 == "" {
		dirs = d.groups.v1
	}
	for _, dir := range dirs {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // the mode of control groups
			return err
		}
	}
	for _, s := range d.settings() {
		err := os.WriteFile(filepath.Join(dirs[s.controller], name, s.file), []byte(s.value), 0o600)
		if err != nil && s.file != optional {
			return err
		}
	}
	for _, dir := range dirs {
		for _, pid := range pids {
			if err := os.WriteFile(filepath.Join(dir, name, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

type rlimit struct {
	name     string
	resource int
	most     uint64
}

// openFiles is how many files a process inside may have open.
const openFiles = 4096

// rlimits bound each process. Those that stand for a whole sandbox come only where there is
// no control group: processes are then counted by user, and memory by process.
func (d *Driver) rlimits() []rlimit {
	all := []rlimit{
		{"the size of files", unix.RLIMIT_FSIZE, uint64(d.limits.Disk)}, {"open files", unix.RLIMIT_NOFILE, openFiles}, {"core files", unix.RLIMIT_CORE, 0},
	}
	if !d.groups.usable {
		all = append(all, rlimit{"memory", unix.RLIMIT_DATA, uint64(d.limits.Memory)}, rlimit{"processes", unix.RLIMIT_NPROC, uint64(d.limits.PIDs)})
	}
	return all
}
