package chat

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// model is the whole interface: what is known of the conversation, what is being
// written, and how it is shown. Bubble Tea calls it from one goroutine.
type model struct {
	ctx  context.Context //nolint:containedctx // commands of Bubble Tea take no argument
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
	offline bool            // the last message met no server
	wished  map[string]bool // turns whose end was asked for

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
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.paint.set(m.width, m.unfold)
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case tea.PasteMsg:
		m.write(msg.Content)
	case tea.MouseWheelMsg:
		m.wheel(msg.Button)
	case news:
		return m, m.hear(msg)
	case tick:
		m.ticking = false
		return m, m.tick()
	case delivered:
		return m, m.deliveredOne(msg)
	case resend:
		return m, m.sendNext()
	case again:
		return m, tea.Cmd(msg)
	case cancelledOne:
		return m, m.cancelled(msg)
	case recovered:
		if msg.err != nil {
			m.talk.trouble("/recover: " + msg.err.Error())
		}
	}
	return m, nil
}

// hear takes in what came of the log.
func (m *model) hear(n news) tea.Cmd {
	if n.feed != m.feed {
		return nil // of a session that was left
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
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} })
}

// write puts a text into the box.
func (m *model) write(s string) { m.box, m.hint = m.box.insert(s), "" }
