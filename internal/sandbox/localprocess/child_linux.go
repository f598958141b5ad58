package localprocess

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// child is one start of a sandbox.
type child struct {
	cmd     *exec.Cmd
	started time.Time
	done    chan struct{} // closed when nothing of it is left
	said    tail
	asked   atomic.Bool // to end
}

// over tells whether nothing of it is left.
func (c *child) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends it. The kernel ends what is inside with the first process there; bubblewrap is
// held meanwhile, so that it makes no other.
func (c *child) kill() {
	c.asked.Store(true)
	_ = c.cmd.Process.Signal(syscall.SIGSTOP)
	killBelow(c.cmd.Process.Pid)
	_ = c.cmd.Process.Kill()
}

// killBelow kills the children of a process that cannot end before them.
func killBelow(pid int) {
	at := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(at + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		return
	}
	for _, word := range strings.Fields(string(data)) {
		if below, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(below, syscall.SIGKILL)
		}
	}
}

// sweep kills what an earlier server left of sandboxes whose folders lie in dir, one that was
// killed while bubblewrap began, and returns when nothing of it is alive. The lock of the data
// folder says that no other server works on them.
func sweep(dir string) {
	for end := time.Now().Add(endTime); killAll(dir) > 0 && time.Now().Before(end); {
		<-time.NewTimer(emptyWait).C
	}
}

// killAll kills the bubblewraps of sandboxes below dir and answers how many there were.
func killAll(dir string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte("\x00--bind\x00"+dir+"/")) || !bytes.Contains(line, []byte("\x00--die-with-parent\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// startTime bounds bubblewrap's own work.
const startTime = 20 * time.Second

// start runs a sandbox: bubblewrap makes it and says which process is the first inside, that
// one is bounded, and only then the program inside begins. Nothing of it is left after an
// error.
func (d *Driver) start(ctx context.Context, f folder, line string, env sandbox.Env, epoch int64) (_ *child, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	files, err := d.openFiles(env.Token())
	if err != nil {
		return nil, failed(f, err)
	}
	defer files.close()
	c := &child{done: make(chan struct{})}
	c.cmd = exec.Command(d.bwrap, d.arguments(f, line, env.Token() != "")...) //nolint:gosec // bubblewrap, with arguments of this driver
	c.cmd.Env, c.cmd.ExtraFiles, c.cmd.Stderr, c.cmd.Stdout = d.environment(env), files.given, &c.said, &c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		return nil, failed(f, err)
	}
	files.given.close()
	alive := files.alive
	files.alive = nil // the watcher's
	go c.watch(alive, func() { d.groups.remove(f.name) })
	defer func() {
		if err != nil {
			c.kill()
			<-c.done
		}
	}()
	first, err := files.first(ctx, c)
	if err != nil {
		return nil, d.refused(ctx, f, c, err)
	}
	if err := d.bound(f.name, c.cmd.Process.Pid, first); err != nil {
		return nil, failed(f, err)
	}
	if _, err := files.go_.Write([]byte{1}); err != nil {
		return nil, d.refused(ctx, f, c, err)
	}
	c.started = time.Now()
	d.log.InfoContext(ctx, "sandbox runs", "sandbox", f.name, "epoch", epoch, "pid", c.cmd.Process.Pid)
	return c, nil
}

func failed(f folder, err error) error {
	return sandbox.ErrFailed.Saying("the sandbox %s cannot be started: %s", f.name, reason(err)).Because(err)
}

// refused is why bubblewrap made nothing: its own words, when it said any.
func (d *Driver) refused(ctx context.Context, f folder, c *child, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	c.kill()
	<-c.done
	if said := c.said.String(); said != "" {
		return sandbox.ErrFailed.Saying("the sandbox %s cannot be started: %s", f.name, said).Because(err)
	}
	return failed(f, err)
}

// watch waits until nothing is left: bubblewrap has ended, and nobody inside holds the pipe.
func (c *child) watch(alive *os.File, gone func()) {
	_ = c.cmd.Wait()
	_, _ = io.Copy(io.Discard, alive)
	_ = alive.Close()
	gone()
	close(c.done)
}

// files are the descriptors between the driver and bubblewrap.
type files struct {
	given given    // bubblewrap's ends, in the order of their numbers
	info  *os.File // reads what it tells
	go_   *os.File // its word to go on
	alive *os.File // ends when all have
}

type given []*os.File

func (g given) close() {
	for _, f := range g {
		_ = f.Close()
	}
}

func (f *files) close() {
	f.given.close()
	for _, one := range []*os.File{f.info, f.go_, f.alive} {
		if one != nil {
			_ = one.Close()
		}
	}
}

func (d *Driver) openFiles(token string) (f *files, err error) {
	f = &files{}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	filter, err := memory("filter", d.filter)
	if err != nil {
		return nil, err
	}
	f.given = given{filter}
	pipe := func(ours **os.File, oursReads bool) {
		if err != nil {
			return
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return
		}
		if !oursReads {
			r, w = w, r
		}
		*ours, f.given = r, append(f.given, w)
	}
	pipe(&f.info, true)
	pipe(&f.go_, false)
	pipe(&f.alive, true)
	if err != nil || token == "" {
		return f, err
	}
	secret, err := memory("token", []byte(token))
	if err == nil {
		f.given = append(f.given, secret)
	}
	return f, err
}

// memory is a file that lies nowhere, from its beginning.
func memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for the %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
	}
	return f, err
}

// first waits for bubblewrap's word which process is the first inside.
func (f *files) first(ctx context.Context, c *child) (int, error) {
	told := make(chan error, 1)
	var info struct {
		Child int `json:"child-pid"`
	}
	go func() { told <- json.NewDecoder(f.info).Decode(&info) }()
	select {
	case err := <-told:
		if err == nil && info.Child <= 0 {
			err = errors.New("bubblewrap names no process")
		}
		return info.Child, err
	case <-c.done:
		return 0, errors.New("bubblewrap ended")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// tail keeps the last of what was printed.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLimit = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailLimit; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

// String is the last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return strings.ToValidUTF8(string(bytes.TrimSpace(lines[len(lines)-1])), "?")
}
