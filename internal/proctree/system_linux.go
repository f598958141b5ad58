package proctree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// linux asks /proc.
type linux struct{}

func newSystem() system { return linux{} }

func (linux) table() ([]process, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, alive := readStat(pid); alive {
			all = append(all, p)
		}
	}
	return all, nil
}

// readStat reads /proc/PID/stat; false when there is no such process.
func readStat(pid int) (process, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// The name stands in parentheses and may hold any character.
	open, shut := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	f := strings.Fields(string(data[shut+1:])) // from field 3 on
	if len(f) < 20 {
		return process{}, false
	}
	p := process{pid: pid, name: string(data[open+1 : shut]), zombie: f[0] == "Z" || f[0] == "X"}
	p.ppid, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	p.start, _ = strconv.ParseInt(f[19], 10, 64)
	return p, true
}

func (linux) marker(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if value, found := bytes.CutPrefix(entry, []byte(markerName+"=")); found {
			return string(value)
		}
	}
	return ""
}

func (linux) namespace(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return name
}

// signal holds the process by a handle before it looks at the start time, so
// that the pid cannot change hands in between.
func (linux) signal(who identity, sig syscall.Signal) {
	p, err := os.FindProcess(who.Pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if now, alive := readStat(who.Pid); alive && now.identity() == who {
		_ = p.Signal(sig) // one that is gone needs no signal
	}
}

func (linux) identify(pid int) (identity, bool) {
	p, alive := readStat(pid)
	return p.identity(), alive
}

func (linux) boot() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data))
}

// reap waits for zombies of ours that no os.Process stands for: each of those
// holds a handle for the child that it will wait for.
func (l linux) reap() {
	all, err := l.table()
	if err != nil {
		return
	}
	var orphans []int
	for _, p := range all {
		if p.zombie && p.ppid == os.Getpid() {
			orphans = append(orphans, p.pid)
		}
	}
	if len(orphans) == 0 {
		return
	}
	held, sure := handles()
	if !sure {
		return
	}
	for _, pid := range orphans {
		if !held[pid] {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// handles are the pids that this process holds handles for. It is not sure where
// processes have no handles, as on old kernels: it does not see one of itself.
func handles() (held map[int]bool, sure bool) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return nil, false
	}
	defer func() { _ = self.Release() }()
	held = map[int]bool{}
	infos, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, info := range infos {
		data, err := os.ReadFile(info)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if value, found := strings.CutPrefix(line, "Pid:"); found {
				if pid, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					held[pid] = true
				}
			}
		}
	}
	return held, held[os.Getpid()]
}

// adopt makes this process the parent of its descendants' orphans, so that they
// stay in sight. It does not where it could not tell them from other children
// when they end.
func adopt() {
	if _, sure := handles(); !sure {
		return
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// spaces are the ways to make a namespace, best first: false without, true with
// a user namespace around it.
func spaces() []bool {
	if os.Geteuid() == 0 {
		return []bool{false, true}
	}
	return []bool{true}
}

// groupAttr starts a tree in a session of its own. Its shell dies with the server.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// namespaceAttr starts a tree in a PID namespace of its own. The mounts are
// unshared by Go, which makes them private first: a mount of /proc in the tree
// never reaches the machine.
func namespaceAttr(user bool) *syscall.SysProcAttr {
	attr := groupAttr()
	attr.Cloneflags, attr.Unshareflags = syscall.CLONE_NEWPID, syscall.CLONE_NEWNS
	if user {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// groupGap is what mode Group cannot prove here.
const groupGap = "a process that leaves its session and drops its environment is not found once its parents have ended"
