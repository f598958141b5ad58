package chat

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// model is the whole interface: what is known of the conversation, what is being
// written, and how it is shown. Bubble Tea calls it from one goroutine.
type model struct {
	ctx  context.Context // of the commands: Bubble Tea gives them none
	o    Options
	talk *talk

	feed  *feed // of the session that is shown; nil before there is one
	feeds []*feed
	link  link

	box    box
	draft  box // what was being written before going back in the history
	past   int // how far back in the history the box is; 0 is not
	unsaid []string
	attach []string // files that go with the next message
	model  string   // for the next messages; "" for the one used so far

	outbox  []outgoing // what no server has accepted yet, in order
	sending bool
	warned  bool            // it was said that leaving loses what is in the outbox
	offline bool            // the last message met no server
	wished  map[string]bool // turns whose end was asked for

	broken        string // a panic and its stack
	left          string // the session that /new left
	width, height int
	top           int  // the first line of the transcript that is shown, when not at the end
	scrolled      bool // the end of the transcript is not followed
	unfold        bool
	hint          string
	leaving       time.Time // when Ctrl-C said that it would leave
	ticking       bool
	paint         *painter
}

func newModel(ctx context.Context, o Options) *model {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &model{
		ctx: ctx, o: o, talk: newTalk(), model: o.Model, wished: map[string]bool{}, width: 80, height: 24,
		paint: newPainter(o.Subject, o.Plain),
	}
	m.paint.set(m.width, m.unfold)
	m.talk.agent, m.talk.folder = o.Agent, o.Folder
	return m
}

// Init begins to read the session, when there is one.
func (m *model) Init() tea.Cmd {
	if m.o.Session == "" {
		return nil
	}
	return m.open(m.o.Session)
}

// open shows a session from its beginning.
func (m *model) open(session string) tea.Cmd {
	m.talk.session, m.link = session, loading
	m.feed = follow(m.ctx, m.o.Server, session)
	m.feeds = append(m.feeds, m.feed)
	return m.feed.take
}

// stopFeed ends what reads in the background and waits for it.
func (m *model) stopFeed() {
	for _, f := range m.feeds {
		f.stop()
	}
}

// Update takes a message in.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return m, m.guarded(msg) }

// guarded takes a message in and turns a panic into an orderly end.
func (m *model) guarded(msg tea.Msg) (cmd tea.Cmd) {
	defer func() {
		if p := recover(); p != nil {
			cmd = m.breakDown(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	return m.update(msg)
}

// breakDown ends the program in order after a panic, so that the terminal is as it was.
func (m *model) breakDown(what string) tea.Cmd {
	m.broken = what
	return tea.Quit
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.paint.set(m.width, m.unfold)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.write(msg.Content)
	case tea.MouseWheelMsg:
		m.wheel(msg.Button)
	case news:
		return m.hear(msg)
	case tick:
		m.ticking = false
		return m.tick()
	case delivered:
		return m.deliveredOne(msg)
	case resend:
		return m.sendNext()
	case again:
		return tea.Cmd(msg)
	case cancelledOne:
		return m.cancelled(msg)
	case recovered:
		if msg.err != nil {
			m.talk.trouble("/recover: " + msg.err.Error())
		}
	}
	return nil
}

// hear takes in what came of the log.
func (m *model) hear(n news) tea.Cmd {
	if n.feed != m.feed {
		return nil // of a session that was left
	}
	if n.broken != "" {
		return m.breakDown(n.broken)
	}
	n.each(func(e *eventv1.Event) { m.talk.fold(e) }, func(d *eventv1.EphemeralDelta) { m.talk.preview(d) })
	m.link = n.link
	if n.link == ended && n.err != nil {
		m.talk.trouble("the session can be followed no longer: " + n.err.Error())
	}
	return tea.Batch(m.feed.take, m.tick())
}

// tick is the second by which the time of a running turn is shown.
type tick struct{}

func (m *model) tick() tea.Cmd {
	if m.ticking || m.talk.now() == nil {
		return nil
	}
	m.ticking = true
	return m.later(time.Second, tick{})
}

// later is a message after a while; none when the conversation was left meanwhile.
func (m *model) later(d time.Duration, msg tea.Msg) tea.Cmd {
	ctx := m.ctx
	return func() tea.Msg {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			return msg
		}
	}
}

// write puts a text into the box.
func (m *model) write(s string) { m.box, m.hint = m.box.insert(s), "" }
