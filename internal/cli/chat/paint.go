package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
)

// What an unfolded call and a running one show at most, in lines.
const (
	argumentLines = 20
	resultLines   = 40
	progressLines = 3
)

// styles are how the parts of the screen look. The zero value is plain text.
type styles struct {
	said, dim, good, bad, warn lipgloss.Style
}

func coloured() styles {
	s := lipgloss.NewStyle()
	return styles{
		said: s.Bold(true), dim: s.Faint(true),
		good: s.Foreground(lipgloss.Green), bad: s.Foreground(lipgloss.Red), warn: s.Foreground(lipgloss.Yellow),
	}
}

// painter draws the transcript into lines of a width. It keeps what it drew of
// each entry until the entry, the width or the folding changes.
type painter struct {
	styles
	subject func(arguments string) string
	width   int
	unfold  bool
	drawn   map[*entry]drawing
}

type drawing struct {
	rev   int
	mark  string // what else it was drawn with
	lines []string
}

func newPainter(subject func(string) string, plain bool) *painter {
	p := &painter{subject: subject, drawn: map[*entry]drawing{}}
	if !plain {
		p.styles = coloured()
	}
	return p
}

// set says how to draw from now on.
func (p *painter) set(width int, unfold bool) {
	if p.width != width || p.unfold != unfold {
		p.width, p.unfold = width, unfold
		clear(p.drawn)
	}
}

// height is how many lines the transcript has.
func (p *painter) height(t *talk) int {
	n := 0
	p.walk(t, func(lines []string) { n += len(lines) })
	return n
}

// window is so many lines of the transcript from a place on.
func (p *painter) window(t *talk, top, height int) []string {
	var shown []string
	at := 0
	p.walk(t, func(lines []string) {
		from, to := min(max(top-at, 0), len(lines)), min(max(top+height-at, 0), len(lines))
		shown = append(shown, lines[from:to]...)
		at += len(lines)
	})
	return shown
}

var gap = []string{""}

// walk calls for the lines of one entry after the other, and of the gaps between them.
func (p *painter) walk(t *talk, each func(lines []string)) {
	place := 0
	for i, b := range t.blocks {
		if i > 0 {
			each(gap)
		}
		if b.turn == nil {
			each(p.entry(b.words, ""))
			continue
		}
		if b.turn.phase == queued {
			place++
		}
		each(p.entry(b.turn.said, saidMark(b.turn, place)))
		last := saidEntry
		for _, e := range b.turn.entries {
			lines := p.entry(e, "")
			if len(lines) == 0 {
				continue
			}
			if e.kind != last && (e.kind == answerEntry || last == answerEntry) {
				each(gap)
			}
			last = e.kind
			each(lines)
		}
	}
}

// saidMark is what stands below a message that nobody works on.
func saidMark(x *turn, place int) string {
	switch {
	case x.phase == removed:
		return "taken back"
	case x.phase == queued && place == 1:
		return "queued, next"
	case x.phase == queued:
		return fmt.Sprintf("queued, place %d", place)
	}
	return ""
}

func (p *painter) entry(e *entry, mark string) []string {
	if d, ok := p.drawn[e]; ok && d.rev == e.rev && d.mark == mark {
		return d.lines
	}
	var lines []string
	switch e.kind {
	case saidEntry:
		lines = p.said(strings.TrimSpace(e.text)+"\n"+e.files, mark)
	case answerEntry:
		if text := strings.Trim(clean(e.answer.text()), "\n"); strings.TrimSpace(text) != "" {
			lines = wrap(text, p.width)
		}
	case toolEntry:
		lines = p.call(&e.tool)
	case noteEntry:
		lines = p.styled(p.dim, wrap(clean(e.text), p.width))
	case troubleEntry:
		lines = p.styled(p.warn, wrap(clean(e.text), p.width))
	}
	p.drawn[e] = drawing{e.rev, mark, lines}
	return lines
}

func (p *painter) styled(s lipgloss.Style, lines []string) []string {
	for i, line := range lines {
		lines[i] = s.Render(line)
	}
	return lines
}

func (p *painter) said(text, mark string) []string {
	style := p.styles.said
	if mark != "" {
		style = p.dim
	}
	lines := indent("> ", "  ", wrap(strings.TrimSpace(clean(text)), p.width-2))
	lines = p.styled(style, lines)
	if mark != "" {
		lines = append(lines, p.dim.Render(fit("  … "+mark, p.width)))
	}
	return lines
}

// indent puts something before the first line and something before the others.
func indent(first, others string, lines []string) []string {
	for i, line := range lines {
		if i == 0 {
			lines[i] = first + line
		} else {
			lines[i] = others + line
		}
	}
	return lines
}

// call draws a tool call: one line, and more of a running or unfolded one.
func (p *painter) call(c *call) []string {
	mark, style := "…", p.dim
	switch c.state {
	case "started":
		mark, style = "●", p.warn
	case "completed":
		mark, style = "✓", p.good
	case "failed":
		mark, style = "✗", p.bad
	case "unknown":
		mark, style = "?", p.warn
	}
	lines := []string{style.Render(mark) + " " + p.title(c)}
	if p.unfold {
		lines = append(lines, p.block(pretty(c.arguments), argumentLines)...)
		lines = append(lines, p.block(c.result, resultLines)...)
	}
	for _, line := range lastLines(c.progress, progressLines) {
		lines = append(lines, p.dim.Render(fit("  │ "+oneLine(line, 400), p.width)))
	}
	return lines
}

// title says what a call is about and what came of it. Where room is short, what it
// is about is cut first.
func (p *painter) title(c *call) string {
	duration := ""
	if c.state == "completed" || c.state == "failed" {
		duration = took(c.duration)
	}
	width := p.width - 2
	name, subject := oneLine(c.name, 60), oneLine(p.subject(c.arguments), 60)
	outcome := join(fit(oneLine(c.note, 200), max(width/3, width-lipgloss.Width(name+subject+duration)-7)), duration)
	if outcome != "" {
		outcome = " · " + outcome
	}
	if subject != "" {
		subject = " " + fit(subject, max(width-lipgloss.Width(name+outcome)-1, width/4))
	}
	return fit(name+subject+outcome, width)
}

// block draws the beginning of a text below a call.
func (p *painter) block(text string, most int) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	const mostBytes = 16 << 10
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	left := len(all) - most
	head := strings.Join(all[:min(len(all), most)], "\n")
	if len(head) > mostBytes {
		head = head[:mostBytes] + "…"
	}
	lines := wrap(clean(head), p.width-4)
	if len(lines) > most {
		lines = append(lines[:most], "…")
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("… %d more lines", left))
	}
	return p.styled(p.dim, indent("  │ ", "  │ ", lines))
}

// pretty spreads JSON over lines; another text stays as it is.
func pretty(arguments string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(arguments), "", "  ") != nil {
		return arguments
	}
	return out.String()
}
