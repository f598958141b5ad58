package chat

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// leaveWithin is how soon a second Ctrl-C has to come to leave.
const leaveWithin = 2 * time.Second

// wheelLines is how far the mouse wheel scrolls.
const wheelLines = 3

// key does what a key stands for.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name != "ctrl+c" {
		m.leaving = time.Time{}
	}
	m.hint = ""
	switch name {
	case "enter", "kpenter":
		return m.submit()
	case "shift+enter", "alt+enter", "ctrl+j":
		m.write("\n")
	case "up", "ctrl+p":
		m.up()
	case "down", "ctrl+n":
		m.down()
	case "esc":
		return m.stopTurn()
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+d":
		if m.box.empty() {
			return m.leave()
		}
		m.box = m.box.cut(m.box.at, min(m.box.at+1, len(m.box.cells)))
	case "ctrl+x":
		return m.takeBack()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	default:
		if !m.look(name) && !m.edit(name) && k.Text != "" {
			m.write(k.Text)
		}
	}
	return nil
}

// look does what changes the view alone.
func (m *model) look(name string) bool {
	page := max(m.viewHeight()-1, 1)
	switch name {
	case "pgup":
		m.scroll(-page)
	case "pgdown":
		m.scroll(page)
	case "ctrl+home":
		m.scroll(-m.paint.height(m.talk))
	case "ctrl+end":
		m.scrolled = false
	case "ctrl+o":
		m.unfold = !m.unfold
		m.paint.set(m.width, m.unfold)
	default:
		return false
	}
	return true
}

// edit does what changes the box and sends nothing.
func (m *model) edit(name string) bool {
	b := m.box
	switch name {
	case "left", "ctrl+b":
		m.box = b.moved(b.at - 1)
	case "right", "ctrl+f":
		m.box = b.moved(b.at + 1)
	case "ctrl+left", "alt+left", "alt+b":
		m.box = b.moved(b.wordLeft())
	case "ctrl+right", "alt+right", "alt+f":
		m.box = b.moved(b.wordRight())
	case "home", "ctrl+a":
		m.box = b.moved(b.lineStart())
	case "end", "ctrl+e":
		m.box = b.moved(b.lineEnd())
	case "backspace", "ctrl+h", "shift+backspace":
		m.box = b.cut(max(b.at-1, 0), b.at)
	case "delete":
		m.box = b.cut(b.at, min(b.at+1, len(b.cells)))
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		m.box = b.cut(b.wordLeft(), b.at)
	case "alt+d", "ctrl+delete":
		m.box = b.cut(b.at, b.wordRight())
	case "ctrl+u":
		m.box = b.cut(b.lineStart(), b.at)
	case "ctrl+k":
		m.box = b.cut(b.at, b.lineEnd())
	default:
		return false
	}
	return true
}

// up goes a row up, and from the first one back in the history.
func (m *model) up() {
	if b, ok := m.box.vertical(m.boxWidth(), -1); ok {
		m.box = b
		return
	}
	said := append(m.talk.history(), m.unsaid...)
	if m.past >= len(said) {
		return
	}
	if m.past == 0 {
		m.draft = m.box
	}
	m.past++
	m.box = filled(said[len(said)-m.past])
}

// down goes a row down, and from the last one forward in the history.
func (m *model) down() {
	if b, ok := m.box.vertical(m.boxWidth(), 1); ok {
		m.box = b
		return
	}
	said := append(m.talk.history(), m.unsaid...)
	switch m.past = max(m.past-1, -1); m.past {
	case -1:
		m.past = 0
	case 0:
		m.box = m.draft
	default:
		m.box = filled(said[len(said)-min(m.past, len(said))])
	}
}

// stopTurn asks for the end of the turn that is at work or waits.
func (m *model) stopTurn() tea.Cmd {
	x := m.talk.now()
	switch {
	case x == nil && len(m.talk.line()) > 0:
		m.hint = "nothing runs yet; ctrl+x takes the newest queued message back"
	case x == nil:
		m.hint = "nothing runs"
	case !m.wished[x.id]: // what is wished for, the status line says
		return m.cancel(x.id, "")
	}
	return nil
}

// interrupt clears the box, else ends the turn, else leaves when it comes twice.
func (m *model) interrupt() tea.Cmd {
	if !m.box.empty() {
		m.clear()
		return nil
	}
	if x := m.talk.now(); x != nil && !m.wished[x.id] && x.phase != cancelling {
		return m.stopTurn()
	}
	now := m.o.Now()
	if !m.leaving.IsZero() && now.Sub(m.leaving) <= leaveWithin {
		return m.leave()
	}
	m.leaving = now
	m.hint = "Ctrl-C again leaves; no work is cancelled by that"
	return nil
}

// leave ends the program. While a message is on its way it says so first.
func (m *model) leave() tea.Cmd {
	if len(m.outbox) > 0 && !m.warned {
		m.warned = true
		m.hint = "a message is still being sent; once more leaves without it"
		return nil
	}
	return tea.Quit
}

// takeBack cancels the newest message that nobody works on yet.
func (m *model) takeBack() tea.Cmd {
	line := m.talk.line()
	for len(line) > 0 {
		x := line[len(line)-1]
		if !m.wished[x.id] {
			return m.cancel(x.id, x.said.text)
		}
		line = line[:len(line)-1]
	}
	m.hint = "no message is queued"
	return nil
}

func (m *model) wheel(button tea.MouseButton) {
	switch button {
	case tea.MouseWheelUp:
		m.scroll(-wheelLines)
	case tea.MouseWheelDown:
		m.scroll(wheelLines)
	}
}

// scroll moves the transcript by lines. At its end, the end is followed again.
func (m *model) scroll(by int) {
	last := max(m.paint.height(m.talk)-m.viewHeight(), 0)
	top := last
	if m.scrolled {
		top = min(m.top, last)
	}
	m.top = max(top+by, 0)
	m.scrolled = m.top < last
}
