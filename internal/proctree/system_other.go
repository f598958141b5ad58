//go:build unix && !linux

package proctree

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// psPatience bounds one look at the table.
const psPatience = 10 * time.Second

// plain asks ps, the one table that all Unix systems offer.
type plain struct{}

func newSystem() system { return plain{} }

func (plain) table() ([]process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), psPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart=", "-o", "comm=")
	cmd.Env = []string{"LC_ALL=C", "PATH=/bin:/usr/bin", "TZ=UTC"}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []process
	for line := range strings.Lines(string(out)) {
		if p, ok := readRow(strings.Fields(line)); ok && p.pid != cmd.Process.Pid {
			all = append(all, p)
		}
	}
	return all, nil
}

// readRow reads pid, ppid, pgid, state, five words of time, and the name. A tree
// begins as a group and a session of one number; ps does not show sessions
// everywhere, so the group stands for both.
func readRow(f []string) (process, bool) {
	if len(f) < 10 {
		return process{}, false
	}
	began, err := time.Parse("Mon Jan 2 15:04:05 2006", strings.Join(f[4:9], " "))
	if err != nil {
		return process{}, false
	}
	p := process{start: began.Unix(), zombie: strings.HasPrefix(f[3], "Z"), name: strings.Join(f[9:], " ")}
	p.pid, _ = strconv.Atoi(f[0])
	p.ppid, _ = strconv.Atoi(f[1])
	p.group, _ = strconv.Atoi(f[2])
	p.session = p.group
	return p, p.pid > 0
}

func (plain) marker(int) string    { return "" } // environments are not shown
func (plain) namespace(int) string { return "" }
func (plain) boot() string         { return "" }
func (plain) reap()                {} // orphans go to the first process

func (s plain) signal(who identity, sig syscall.Signal) {
	all, err := s.table()
	if err != nil {
		return
	}
	for _, p := range all {
		if p.identity() == who {
			_ = syscall.Kill(who.Pid, sig) // one that is gone needs no signal
		}
	}
}

func (s plain) identify(pid int) (identity, bool) {
	all, err := s.table()
	if err != nil {
		return identity{}, false
	}
	for _, p := range all {
		if p.pid == pid {
			return p.identity(), true
		}
	}
	return identity{}, false
}

func adopt() {}

// spaces are the ways to make a namespace: none.
func spaces() []bool { return nil }

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func namespaceAttr(bool) *syscall.SysProcAttr { return groupAttr() }

const groupGap = "a process that leaves its group is not found once its parents have ended"
