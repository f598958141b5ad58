package proctree

import (
	"os"
	"os/exec"
	"time"
)

// pipes are the ends of one start. The tree's are closed once it has them.
type pipes struct {
	output         *output
	write          *os.File // the tree's end of output
	gate, toGate   *os.File
	status, report *os.File // nil in mode Group
}

func openPipes(s Spec, mode Mode) (p pipes, err error) {
	defer func() {
		if err != nil {
			p.closeTree()
			p.closeOurs()
		}
	}()
	if p.output, p.write, err = newOutput(s.Output); err != nil {
		return p, err
	}
	if p.gate, p.toGate, err = os.Pipe(); err != nil {
		return p, err
	}
	if mode == Namespace {
		p.status, p.report, err = os.Pipe()
	}
	return p, err
}

// closeTree closes what the tree has now itself. Closing nil does nothing.
func (p pipes) closeTree() {
	p.write.Close()
	p.gate.Close()
	p.report.Close()
}

func (p pipes) closeOurs() {
	if p.output != nil {
		p.output.read.Close()
	}
	p.toGate.Close()
	p.status.Close()
}

// launch starts the first process, records it, and lets it go on.
func (f *Forest) launch(s Spec) (*Tree, error) {
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return nil, fail(ErrStart, err, "the working folder %s is no folder; make it, or name another", s.Dir)
		}
	}
	p, err := openPipes(s, f.Mode())
	if err != nil {
		return nil, fail(ErrStart, err, "the command cannot be started: the server has no free file descriptors")
	}
	script, attr := groupInit, groupAttr()
	if f.Mode() == Namespace {
		script, attr = namespaceInit, namespaceAttr(f.found.user)
	}
	marker := f.records.marker(f.boot, s.ID)
	cmd := command(script, s, marker, attr, p.write, p.gate, p.report)
	err = f.launcher.start(cmd)
	p.closeTree()
	if err != nil {
		p.closeOurs()
		return nil, fail(ErrStart, err, "the command cannot be started; it may be too long, or hold a zero byte")
	}
	t := newTree(f, s, cmd, p)
	if err := t.settle(marker); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		p.closeOurs()
		f.records.remove(t.record)
		return nil, err
	}
	return t, nil
}

// settle records the tree and opens the gate: from here on the command runs.
func (t *Tree) settle(marker string) error {
	f, pid := t.forest, t.cmd.Process.Pid
	root, found := f.sys.identify(pid)
	t.record = record{
		ID: t.spec.ID, Owner: t.spec.Owner, Boot: f.boot, Mode: f.Mode(), Machine: f.sys.boot(),
		Marker: marker, Root: root, Started: t.started,
	}
	if f.Mode() == Namespace {
		t.record.Space = f.sys.namespace(pid)
	}
	t.search = t.record.search()
	if f.Mode() == Group {
		t.search.session = pid // ours while it is not waited for, and then as long as nobody else is given the number
	}
	if !found || f.Mode() == Namespace && t.record.Space == "" {
		return fail(ErrStart, nil, "the command cannot be started: its process cannot be observed; is /proc there?")
	}
	if err := f.records.write(t.record); err != nil {
		return fail(ErrDir, err, "the record of a command cannot be written to %s; check its rights and the disk", f.records.dir)
	}
	if _, err := t.pipes.toGate.WriteString("go\n"); err != nil {
		return fail(ErrStart, err, "the command cannot be started: its first process ended at once")
	}
	return nil
}

func newTree(f *Forest, s Spec, cmd *exec.Cmd, p pipes) *Tree {
	return &Tree{
		forest: f, spec: s, cmd: cmd, pipes: p, started: time.Now(),
		waited: make(chan struct{}), reported: make(chan struct{}), kill: make(chan struct{}), done: make(chan struct{}),
	}
}
