package chat

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// outgoing is a message on its way.
type outgoing struct {
	Message
	said  string   // as it stood in the box
	files []string // to be uploaded; the first len(Attachments) of them were
}

// delivered says what became of the first message of the outbox.
type delivered struct {
	session     string
	attachments []string
	err         error
}

// resend tries the first message of the outbox once more.
type resend struct{}

// again is a command that is worth another try.
type again func() tea.Msg

// cancelledOne says what became of the wish to end a turn.
type cancelledOne struct {
	execution string
	text      string // to be put back into the box
	ended     bool
	err       error
}

// recovered says what became of the wish to let a turn go on.
type recovered struct{ err error }

// send puts a message into the outbox.
func (m *model) send(text string) tea.Cmd {
	o := outgoing{Message: Message{Text: text, Model: m.model, Key: m.o.NewKey()}, said: m.box.text(), files: m.attach}
	m.outbox = append(m.outbox, o)
	m.attach = nil
	m.scrolled = false
	m.clear()
	return m.sendNext()
}

// sendNext delivers the first message of the outbox, one at a time.
func (m *model) sendNext() tea.Cmd {
	if m.sending || len(m.outbox) == 0 {
		return nil
	}
	m.sending = true
	return m.deliver(m.talk.session, m.outbox[0])
}

func (m *model) deliver(session string, o outgoing) tea.Cmd {
	ctx, server, agent, folder := m.ctx, m.o.Server, m.talk.agent, m.talk.folder
	return func() tea.Msg {
		done := delivered{session: session, attachments: o.Attachments}
		for _, path := range o.files[len(o.Attachments):] {
			id, err := server.Upload(ctx, path)
			if err != nil {
				done.err = err
				return done
			}
			done.attachments = append(done.attachments, id)
		}
		o.Attachments = done.attachments
		if session == "" {
			done.session, done.err = server.Run(ctx, agent, folder, o.Message)
		} else {
			done.err = server.Send(ctx, session, o.Message)
		}
		return done
	}
}

// deliveredOne goes on after a delivery. One that met no server is made again
// with the same key, until a server has heard it.
func (m *model) deliveredOne(d delivered) tea.Cmd {
	m.sending = false
	if d.err != nil && m.o.Server.Lost(d.err) {
		m.offline = true
		m.outbox[0].Attachments = d.attachments
		return m.later(retryAfter, resend{})
	}
	m.offline = false
	o := m.outbox[0]
	m.outbox, m.warned = m.outbox[1:], false
	if d.err != nil {
		m.notSent(o, d.err)
		return m.sendNext()
	}
	if m.talk.session == "" {
		return tea.Batch(m.open(d.session), m.sendNext())
	}
	return m.sendNext()
}

// notSent gives a message back that the server refused.
func (m *model) notSent(o outgoing, err error) {
	m.talk.trouble("not sent: " + err.Error())
	m.attach = append(o.files, m.attach...)
	if m.box.empty() {
		m.box = filled(o.said)
		return
	}
	m.unsaid = append(m.unsaid, o.said)
	m.talk.say("What you wrote is in the history: key up.")
}

// cancel asks for the end of a turn. text is put back into the box when it ended.
func (m *model) cancel(execution, text string) tea.Cmd {
	ctx, server := m.ctx, m.o.Server
	m.wished[execution] = true
	return func() tea.Msg {
		ended, err := server.Cancel(ctx, execution)
		return cancelledOne{execution: execution, text: text, ended: ended, err: err}
	}
}

func (m *model) cancelled(c cancelledOne) tea.Cmd {
	x := m.talk.turns[c.execution]
	switch {
	case c.err != nil && m.o.Server.Lost(c.err) && x != nil && x.open():
		m.hint = "no server hears it; it is told again until one does"
		return m.later(retryAfter, again(m.cancel(c.execution, c.text)))
	case c.err != nil:
		delete(m.wished, c.execution)
		m.talk.trouble("not cancelled: " + c.err.Error())
	case !c.ended:
		delete(m.wished, c.execution)
		m.hint = "it was over already"
	case c.text != "" && m.box.empty():
		m.box = filled(c.text)
		if x != nil && x.said.files != "" {
			m.hint = "its files are not attached any more"
		}
	}
	return nil
}

func (m *model) recover(execution string) tea.Cmd {
	ctx, server := m.ctx, m.o.Server
	return func() tea.Msg { return recovered{server.Recover(ctx, execution)} }
}

// clear empties the box.
func (m *model) clear() { m.box, m.draft, m.past, m.hint = box{}, box{}, 0, "" }

// submit sends what the box holds, or does what it says.
func (m *model) submit() tea.Cmd {
	text := m.box.text()
	switch {
	case strings.TrimSpace(text) == "":
		if len(m.attach) > 0 {
			m.hint = "say something about what is attached"
		}
		return nil
	case strings.HasPrefix(text, "//"):
		return m.post(text[1:])
	case strings.HasPrefix(text, "/"):
		return m.command(text)
	}
	return m.post(text)
}

// largestMessage is what the contract allows, in bytes.
const largestMessage = 1 << 20

// post sends a text.
func (m *model) post(text string) tea.Cmd {
	if len(text) > largestMessage {
		m.hint = "too long: a message has at most 1 MiB; put it into a file and /attach that"
		return nil
	}
	return m.send(text)
}
