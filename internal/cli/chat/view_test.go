package chat

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	tea "charm.land/bubbletea/v2"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

var update = flag.Bool("update", false, "write the golden views")

// shown is a model with a conversation that a test wrote.
func shown(t *testing.T, width, height int, write func(*log)) *model {
	t.Helper()
	m := newModel(context.Background(), options(newServer()))
	l := &log{talk: m.talk}
	l.session = "ses_01jtestsession0000abcdef"
	write(l)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// screen is what the model shows, checked against the size.
func screen(t *testing.T, m *model) string {
	t.Helper()
	v := m.View()
	lines := strings.Split(v.Content, "\n")
	if len(lines) != m.height {
		t.Errorf("%d lines on a screen of %d", len(lines), m.height)
	}
	for i, line := range lines {
		if w := lipgloss.Width(line); w > m.width {
			t.Errorf("line %d has %d columns of %d: %q", i, w, m.width, line)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	if v.Cursor == nil || v.Cursor.Y < 0 || v.Cursor.Y >= m.height || v.Cursor.X >= m.width {
		t.Errorf("the cursor is at %v", v.Cursor)
	}
	return strings.Join(lines, "\n") + "\n"
}

// working is a turn in the middle of its work, and one that is queued.
func working(l *log) {
	l.take(l.event("", &eventv1.SessionCreated{Agent: "reviewer", Workspace: "/work"}))
	l.begin("aex_1", "Read the notes, please.\nAll of them.")
	l.take(l.event("aex_1", whole(1, "I look around first, and then I read what matters of it, one file after the other.")))
	l.take(l.event("aex_1", &eventv1.AgentToolRequested{CallId: "c1", Name: "read", Arguments: `{"path":"notes/first.md","limit":20}`}))
	l.take(l.event("aex_1", &eventv1.AgentToolStarted{CallId: "c1", Name: "read"}))
	l.take(l.event("aex_1", &eventv1.AgentToolCompleted{CallId: "c1", Name: "read", Result: "# First\n\nA note\x1b[31m.", Summary: "3 lines", DurationMs: 12}))
	l.take(l.event("aex_1", &eventv1.AgentToolRequested{CallId: "c2", Name: "read", Arguments: `{"path":"gone.md"}`}))
	l.take(l.event("aex_1", &eventv1.AgentToolFailed{CallId: "c2", Name: "read", Result: "there is no gone.md", DurationMs: 3}))
	l.take(l.event("aex_1", &eventv1.AgentModelUsage{Usage: &messagev1.Usage{InputTokens: 12345, OutputTokens: 678, CostNanoUsd: 20_000_000}}))
	l.take(l.event("aex_1", whole(2, "")))
	l.take(l.event("aex_1", &eventv1.AgentToolRequested{CallId: "c3", Name: "shell", Arguments: `{"path":"make test"}`}))
	l.take(l.event("aex_1", &eventv1.AgentToolStarted{CallId: "c3", Name: "shell"}))
	l.take(l.event("aex_1", &eventv1.AgentToolProgress{CallId: "c3", Text: "ok one\nok two\nok three\nok four 日本語\n"}))
	l.take(l.event("aex_2", &eventv1.InputQueued{Text: "And then the code."}))
	l.take(l.event("aex_3", &eventv1.InputQueued{Text: "Last.", Attachments: []*messagev1.Attachment{{Name: "plan.png"}}}))
}

// ended are turns that are over, each in its way.
func ended1(l *log) {
	l.begin("aex_1", "Build it.")
	l.take(l.event("aex_1", &eventv1.AgentToolRequested{CallId: "c1", Name: "shell", Arguments: `{"path":"make"}`}))
	l.take(l.event("aex_1", &eventv1.AgentToolOutcomeUnknown{CallId: "c1", Name: "shell", Message: "the server died while it ran"}))
	l.take(l.event("aex_1", &eventv1.TurnWaiting{WaitingFor: "outcome_unknown"}))
	l.take(l.event("aex_1", &eventv1.TurnCompleted{SegmentLimit: "outcome_unknown", DurationMs: 4200}))
	l.begin("aex_2", "Again.")
	l.take(l.event("aex_2", whole(1, "It is built.\n\n    make: done")))
	l.take(l.event("aex_2", &eventv1.TurnCompleted{Usage: &messagev1.Usage{InputTokens: 10, OutputTokens: 5, UnpricedCalls: 1}}))
	l.begin("aex_3", "Once more.")
	l.take(l.event("aex_3", &eventv1.TurnFailed{Error: execError("provider_overloaded", "the provider is busy", true), DurationMs: 90_000}))
	l.take(l.event("aex_4", &eventv1.InputQueued{Text: "Never mind."}))
	l.take(l.event("aex_4", &eventv1.InputRemoved{}))
}

func TestViews(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name          string
		width, height int
		write         func(*log)
		do            func(*model)
	}{
		{"empty", 60, 10, func(l *log) { l.session = "" }, nil},
		{"working", 80, 30, working, nil},
		{"working-narrow", 40, 20, working, nil},
		{"working-unfolded", 80, 40, working, func(m *model) { press(m, "ctrl+o") }},
		{"ended", 80, 30, ended1, nil},
		{"help", 80, 24, working, func(m *model) { typed(m, "/help\r") }},
		{"usage", 100, 12, working, func(m *model) { typed(m, "/usage\r") }},
		{"writing", 40, 16, ended1, func(m *model) {
			typed(m, "a first line that is longer than the box is wide\n日本語 second\nthird")
			m.attach = []string{"/tmp/plan.png"}
		}},
		{"scrolled", 60, 12, working, func(m *model) { press(m, "pgup"); press(m, "pgup") }},
		{"tiny", 12, 3, working, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := shown(t, c.width, c.height, c.write)
			if c.do != nil {
				c.do(m)
			}
			got, file := screen(t, m), filepath.Join("testdata", c.name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the view is not %s (-update writes it):\n%s", file, got)
			}
		})
	}
}

func TestTheEndIsFollowedOnlyFromTheEnd(t *testing.T) {
	t.Parallel()
	m := shown(t, 60, 12, working)
	l := &log{talk: m.talk, next: m.talk.seq}
	press(m, "ctrl+home")
	before := m.View().Content
	l.take(l.event("aex_1", &eventv1.AgentToolProgress{CallId: "c3", Text: "fresh\n"}))
	l.take(l.event("aex_3", whole(1, "an answer\nof\nlines")))
	after := m.View().Content
	if first, second := strings.Split(before, "\n"), strings.Split(after, "\n"); strings.Join(first[:9], "\n") != strings.Join(second[:9], "\n") {
		t.Errorf("the view moved:\n%s\n%s", before, after)
	}
	if !strings.Contains(after, "more lines below") {
		t.Errorf("nothing says that there is more:\n%s", after)
	}
	press(m, "ctrl+end")
	if got := m.View().Content; !strings.Contains(got, "lines\n") {
		t.Errorf("the end is not shown:\n%s", got)
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	if !m.scrolled {
		t.Error("the wheel does not scroll")
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if m.scrolled {
		t.Error("the end is not followed after scrolling back to it")
	}
}

func TestNoSizeBreaksTheView(t *testing.T) {
	t.Parallel()
	m := shown(t, 80, 24, working)
	typed(m, "some text\nof two lines")
	for width := 1; width < 50; width += 3 {
		for height := 1; height < 12; height++ {
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			if n := len(strings.Split(m.View().Content, "\n")); n != height {
				t.Errorf("%dx%d: %d lines", width, height, n)
			}
		}
	}
}
