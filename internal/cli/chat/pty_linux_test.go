package chat

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	tea "charm.land/bubbletea/v2"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// pseudo is a terminal for tests: what is written to keyboard is typed, and what
// the program writes is kept.
type pseudo struct {
	keyboard *os.File // the other side
	terminal *os.File

	mu      sync.Mutex
	out     bytes.Buffer
	changed chan struct{}
	read    chan struct{} // closed when there is nothing to read any more
}

func ioctl(f *os.File, request, arg uintptr) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var no syscall.Errno
	if err := raw.Control(func(fd uintptr) { _, _, no = syscall.Syscall(syscall.SYS_IOCTL, fd, request, arg) }); err != nil {
		return err
	}
	if no != 0 {
		return no
	}
	return nil
}

func newPseudo(t *testing.T, columns, rows uint16) *pseudo {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	var unlock, number int32
	if err := ioctl(keyboard, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock))); err != nil {
		t.Fatal(err)
	}
	if err := ioctl(keyboard, syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number))); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	p := &pseudo{keyboard: keyboard, terminal: terminal, changed: make(chan struct{}), read: make(chan struct{})}
	p.resize(t, columns, rows)
	go p.keep()
	t.Cleanup(func() {
		_ = terminal.Close()
		_ = keyboard.Close()
		<-p.read
	})
	return p
}

func (p *pseudo) resize(t *testing.T, columns, rows uint16) {
	t.Helper()
	size := [4]uint16{rows, columns}
	if err := ioctl(p.terminal, syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); err != nil {
		t.Fatal(err)
	}
}

// modes are the terminal's settings.
func (p *pseudo) modes(t *testing.T) syscall.Termios {
	t.Helper()
	var m syscall.Termios
	if err := ioctl(p.terminal, syscall.TCGETS, uintptr(unsafe.Pointer(&m))); err != nil {
		t.Fatal(err)
	}
	return m
}

func (p *pseudo) keep() {
	defer close(p.read)
	buf := make([]byte, 4096)
	for {
		n, err := p.keyboard.Read(buf)
		p.mu.Lock()
		p.out.Write(buf[:n])
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// sees waits until the program wrote a text, and forgets what came up to it.
func (p *pseudo) sees(t *testing.T, text string) {
	t.Helper()
	for {
		p.mu.Lock()
		changed, has := p.changed, p.out.String()
		_, rest, ok := strings.Cut(has, text)
		if ok {
			p.out.Reset()
			p.out.WriteString(rest)
		}
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-p.read:
			t.Fatalf("%q is not shown, but %q", text, has)
		case <-t.Context().Done():
			t.Fatalf("%q is not shown, but %q", text, has)
		}
	}
}

func (p *pseudo) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.keyboard.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// chatting is a program on a pseudo terminal.
type chatting struct {
	*pseudo
	before syscall.Termios // the terminal's settings before the program
	ended  chan struct{}
	result Result
	err    error
}

func chatOn(t *testing.T, s *server, session string, change ...func(*Options)) *chatting {
	t.Helper()
	c := &chatting{pseudo: newPseudo(t, 80, 24), ended: make(chan struct{})}
	c.before = c.modes(t)
	o := options(s)
	o.Session = session
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(c.ended)
		c.result, c.err = Run(ctx, o, c.terminal, c.terminal, []string{"TERM=xterm-256color"}, tea.WithoutSignalHandler())
	}()
	t.Cleanup(func() {
		cancel()
		<-c.ended
	})
	return c
}

// asked waits until the server was asked for something.
func (s *server) waitFor(t *testing.T, call string) {
	t.Helper()
	for {
		s.mu.Lock()
		changed, ok := s.changed, strings.Contains(strings.Join(s.asked, "\n"), call)
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("%q was not asked for", call)
		}
	}
}

func TestAConversationOnATerminal(t *testing.T) {
	t.Parallel()
	s := newServer()
	c := chatOn(t, s, "")
	c.sees(t, "\x1b[?1049h") // the other screen
	c.sees(t, "reviewer")
	c.types(t, "hello\r")
	s.waitFor(t, `run reviewer "" "hello"`)
	s.add("aex_1", &eventv1.InputQueued{Text: "hello"}, &eventv1.TurnStarted{Model: "m"})
	c.sees(t, "running")
	s.followed(t.Context())
	s.add("aex_1", preview("aex_1", 1, 0, "Streaming"))
	c.sees(t, "Streaming")
	s.goAway(t.Context())
	c.sees(t, "connection")
	s.comeBack()
	s.add("aex_1", whole(1, "Streaming-is-over"), &eventv1.TurnCompleted{})
	c.sees(t, "-is-over")
	c.sees(t, "idle")
	c.types(t, "\x1b[200~pasted\r\ntext\x1b[201~\r")
	s.waitFor(t, `send ses_1 "pasted\ntext"`)
	s.add("aex_2", &eventv1.InputQueued{Text: "pasted\ntext"}, &eventv1.TurnStarted{})
	c.sees(t, "running")
	c.types(t, "\x1b") // esc
	s.waitFor(t, "cancel aex_2")
	c.types(t, "\x04")
	c.sees(t, "\x1b[?1049l")
	<-c.ended
	if c.err != nil || c.result.Session != "ses_1" || c.result.Unsent != 0 {
		t.Errorf("%+v, %v", c.result, c.err)
	}
	c.restored(t)
}

// restored checks that the terminal is as it was.
func (c *chatting) restored(t *testing.T) {
	t.Helper()
	a, b := c.modes(t), c.before
	if a.Iflag != b.Iflag || a.Oflag != b.Oflag || a.Cflag != b.Cflag || a.Lflag != b.Lflag || a.Cc != b.Cc {
		t.Errorf("the terminal is not as it was: %+v, and before %+v", a, b)
	}
}

func TestTheTerminalIsRestoredAfterAPanic(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*chatting, *server){
		"while the log is read": func(_ *chatting, s *server) { s.add("aex_1", &eventv1.TurnStarted{}) },
		"at a key":              func(c *chatting, _ *server) { c.types(t, "\x03") },
	}
	for name, breakIt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			s.add("aex_1", &eventv1.InputQueued{Text: "hello"})
			s.onStream = func() { panic("planted: not a bug") }
			c := chatOn(t, s, "ses_1", func(o *Options) { o.Now = func() time.Time { panic("planted: not a bug") } })
			c.sees(t, "\x1b[?1049h")
			c.sees(t, "hello")
			if m := c.modes(t); m.Lflag&syscall.ECHO != 0 {
				t.Error("the terminal is not in raw mode")
			}
			breakIt(c, s)
			c.sees(t, "\x1b[?1049l")
			<-c.ended
			if c.err == nil || !strings.Contains(c.err.Error(), "the work goes on without it: planted: not a bug\n") {
				t.Errorf("got %v", c.err)
			}
			c.restored(t)
		})
	}
}
