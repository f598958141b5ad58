package chat

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// mostBoxRows bounds the box on a high screen; on a low one it has a third of it.
const mostBoxRows = 8

// prompt stands before the box; what is written begins behind it.
const prompt = "> "

// View draws the whole screen.
func (m *model) View() tea.View {
	rows, cursor := m.drawBox()
	lines := make([]string, 0, m.height)
	height := m.viewHeight()
	total := m.paint.height(m.talk)
	top := max(total-height, 0)
	if m.scrolled {
		top = min(m.top, top)
	}
	shown := m.paint.window(m.talk, top, height)
	lines = append(lines, shown...)
	for len(lines) < height {
		lines = append(lines, "")
	}
	lines = append(lines, m.rule(total-top-height))
	cursor.Y += len(lines)
	lines = append(lines, rows...)
	lines = append(lines, m.paint.dim.Render(m.status()))
	v := tea.NewView(strings.Join(lines[max(0, len(lines)-m.height):], "\n"))
	cursor.Y -= max(0, len(lines)-m.height)
	v.Cursor = cursor
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	return v
}

// viewHeight is how many lines of the transcript are seen.
func (m *model) viewHeight() int { return max(m.height-2-m.boxHeight(), 0) }

// boxWidth is how many columns the box has; the cursor needs one more.
func (m *model) boxWidth() int { return max(m.width-lipgloss.Width(prompt)-1, 1) }

func (m *model) boxHeight() int {
	return min(len(m.box.rows(m.boxWidth())), max(min(mostBoxRows, m.height/3), 1))
}

// drawBox draws what of the box is seen, around the cursor.
func (m *model) drawBox() ([]string, *tea.Cursor) {
	rows := m.box.rows(m.boxWidth())
	y, x := m.box.cursor(rows)
	height := m.boxHeight()
	first := min(max(y-height+1, 0), len(rows)-height)
	var lines []string
	for i, r := range rows[first : first+height] {
		before := strings.Repeat(" ", len(prompt))
		if first+i == 0 {
			before = prompt
		}
		lines = append(lines, before+strings.TrimRight(strings.Join(m.box.cells[r.from:r.to], ""), " "))
	}
	if m.box.empty() {
		lines[0] = prompt + m.paint.dim.Render(fit("say something, or /help", m.boxWidth()))
	}
	return lines, tea.NewCursor(x+len(prompt), y-first)
}

// rule is the line above the box. It says what is to be said in passing.
func (m *model) rule(below int) string {
	var words []string
	if m.hint != "" {
		words = append(words, oneLine(m.hint, 300))
	}
	if n := len(m.attach); n > 0 {
		names := make([]string, n)
		for i, path := range m.attach {
			names[i] = filepath.Base(path)
		}
		words = append(words, "with "+oneLine(strings.Join(names, ", "), 60))
	}
	if m.scrolled && below > 0 {
		words = append(words, fmt.Sprintf("%d more lines below", below))
	}
	if len(words) == 0 {
		return m.paint.dim.Render(strings.Repeat("─", m.width))
	}
	text := fit("── "+strings.Join(words, " · ")+" ", m.width)
	return m.paint.warn.Render(text) + m.paint.dim.Render(strings.Repeat("─", max(m.width-lipgloss.Width(text), 0)))
}

// status is the last line: what does not fit is left out, the least needed first.
func (m *model) status() string {
	agent, model, state, used, session := oneLine(m.talk.agent, 40), "", m.state(), m.used(), m.talk.session
	if name := m.modelName(); name != "the agent's own" {
		model = shortModel(name)
	}
	for _, leaveOut := range []func(){
		func() {}, func() { session = shortID(session) }, func() { model = "" }, func() { used = "" },
		func() { agent = fit(agent, 12) }, func() { agent = "" }, func() { session = "" },
	} {
		leaveOut()
		if s := join(agent, model, state, used, session); lipgloss.Width(s) <= m.width {
			return s
		}
	}
	return fit(state, m.width)
}

// state says what goes on.
func (m *model) state() string {
	var words []string
	switch {
	case m.feed != nil && m.link == lost, m.offline:
		words = append(words, "connection lost, trying again")
	case m.feed != nil && m.link == ended:
		words = append(words, "not followed")
	}
	if n := len(m.outbox); n > 0 && m.offline {
		words = append(words, fmt.Sprintf("%d not sent yet", n))
	} else if n > 0 {
		words = append(words, "sending")
	}
	if m.feed != nil && m.link == loading {
		return join(append(words, fmt.Sprintf("reading event %d", m.talk.seq))...)
	}
	x := m.talk.now()
	switch {
	case x == nil && len(m.talk.line()) > 0:
		words = append(words, "queued")
	case x == nil && len(words) > 0:
	case x == nil && m.talk.session == "":
		words = append(words, "ready")
	case x == nil:
		words = append(words, "idle")
	case x.phase == waiting:
		words = append(words, "waits for "+oneLine(x.waitingFor, 40))
	default:
		words = append(words, m.doing(x)+" "+m.since(x.started))
	}
	return join(words...)
}

func (m *model) doing(x *turn) string {
	switch {
	case x.phase == cancelling, m.wished[x.id]:
		return "cancelling"
	case x.thinking:
		return "thinking"
	}
	return "running"
}

func (m *model) since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(m.o.Now().Sub(t))
}

// used is what the session used so far; "" before anything was.
func (m *model) used() string {
	u := m.talk.spent()
	if u.GetInputTokens()+u.GetOutputTokens() == 0 {
		return ""
	}
	s := fmt.Sprintf("%s in, %s out", thousands(u.GetInputTokens()), thousands(u.GetOutputTokens()))
	if priced(u) {
		s = join(s, m.o.Cost(u))
	}
	return s
}

func priced(u *messagev1.Usage) bool { return u.GetCostNanoUsd() != 0 || u.GetUnpricedCalls() != 0 }

// thousands writes a number in few characters.
func thousands(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// shortModel leaves the folders of a model's file out.
func shortModel(name string) string {
	name = oneLine(name, 200)
	provider, file, ok := strings.Cut(name, ":")
	if ok && (provider == "scripted" || provider == "replay") {
		return provider + ":" + filepath.Base(file)
	}
	return name
}

// shortID is the end of an id, by which people tell them apart.
func shortID(id string) string {
	if len(id) <= 10 {
		return id
	}
	return "…" + id[len(id)-6:]
}
