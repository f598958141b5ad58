package chat

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// keyNames are the keys that tests press, beside characters.
var keyNames = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
	"esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace},
	"ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl}, "ctrl+home": {Code: tea.KeyHome, Mod: tea.ModCtrl},
}

func keyPress(name string) tea.KeyPressMsg {
	if k, ok := keyNames[name]; ok {
		return tea.KeyPressMsg(k)
	}
	if c, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(c[0]), Mod: tea.ModCtrl}
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

// press presses keys and answers the last one's command.
func press(m *model, names ...string) (cmd tea.Cmd) {
	for _, name := range names {
		_, cmd = m.Update(keyPress(name))
	}
	return cmd
}

// typed writes a text; \r is the enter key and \n the one for a new line.
func typed(m *model, text string) (cmd tea.Cmd) {
	for _, r := range text {
		switch r {
		case '\r':
			cmd = press(m, "enter")
		case '\n':
			cmd = press(m, "ctrl+j")
		default:
			cmd = press(m, string(r))
		}
	}
	return cmd
}

// run does what a command does and gives the model what comes of it. What waits
// for the clock or for a log is left out.
func run(m *model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			run(m, c)
		}
	default:
		_, next := m.Update(msg)
		run(m, next)
	}
}

// talking is a model whose session has a turn that runs.
func talking(t *testing.T) (*model, *server, *log) {
	t.Helper()
	s := newServer()
	m := newModel(t.Context(), options(s))
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 16})
	l := &log{talk: m.talk}
	l.session = "ses_1"
	l.begin("aex_1", "first message")
	return m, s, l
}

func TestTheFirstMessageMakesTheSessionAndTheNextOneUsesIt(t *testing.T) {
	t.Parallel()
	s := newServer()
	o := options(s)
	o.Folder, o.Model = "/work", "some/model"
	m := newModel(t.Context(), o)
	t.Cleanup(m.stopFeed)
	first := typed(m, "one\ntwo\r")
	if second := typed(m, "three\r"); second != nil {
		t.Error("a second message is on its way before the first is delivered")
	}
	if !strings.Contains(m.status(), "sending") {
		t.Errorf("status %q", m.status())
	}
	_, cmd := m.Update(first())
	batch := cmd().(tea.BatchMsg)
	m.Update(batch[1]())
	want := `run reviewer "/work" "one\ntwo" model=some/model files=[] key_1` + "\n" + `send ses_1 "three" model=some/model files=[] key_2`
	if got := s.calls(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if m.talk.session != "ses_1" || m.feed == nil || len(m.outbox) != 0 {
		t.Errorf("session %q, %d unsent", m.talk.session, len(m.outbox))
	}
}

func TestAMessageThatMeetsNoServerIsToldAgainWithItsKey(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	s.fail["send"] = []error{errLost, errLost}
	m.attach = []string{"a", "b"}
	s.fail["upload"] = []error{nil, errLost}
	run(m, typed(m, "hello\r"))
	want := "upload a\nupload b\nupload b\n" + strings.Repeat("send ses_1 \"hello\" model= files=[art_a art_b] key_1\n", 3)
	if got := s.calls() + "\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if m.offline || len(m.outbox) != 0 {
		t.Error("it is still taken for unsent")
	}
}

func TestWhileNoServerAnswersTheStatusSaysSo(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	s.fail["send"] = []error{errLost}
	m.Update(typed(m, "hello\r")())
	if got := m.status(); !strings.Contains(got, "connection lost") || !strings.Contains(got, "1 not sent yet") {
		t.Errorf("status %q", got)
	}
}

func TestARefusedMessageComesBack(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	s.fail["send"] = []error{errRefused, errRefused}
	run(m, typed(m, "//hello\r"))
	if m.box.text() != "//hello" || !strings.Contains(m.View().Content, "not sent: no such agent") {
		t.Errorf("box %q", m.box.text())
	}
	cmd := press(m, "enter")
	typed(m, "other")
	run(m, cmd)
	if m.box.text() != "other" {
		t.Errorf("box %q", m.box.text())
	}
	press(m, "up")
	if m.box.text() != "//hello" {
		t.Errorf("box %q", m.box.text())
	}
	if !strings.HasPrefix(s.calls(), `send ses_1 "/hello"`) {
		t.Errorf("got %s", s.calls())
	}
}

func TestNewLines(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	typed(m, "a")
	press(m, "shift+enter", "b", "alt+enter", "c", "ctrl+j", "d")
	if m.box.text() != "a\nb\nc\nd" || s.calls() != "" {
		t.Errorf("box %q, asked %s", m.box.text(), s.calls())
	}
	m.Update(tea.PasteMsg{Content: "\x1b[2Jx\r\ny"})
	if m.box.text() != "a\nb\nc\nd[2Jx\ny" {
		t.Errorf("box %q", m.box.text())
	}
	if run(m, typed(&model{talk: newTalk(), wished: m.wished, paint: m.paint, o: m.o}, "  \r")); s.calls() != "" {
		t.Error("a blank message is sent")
	}
}

func TestEscCancelsTheTurnAndIsToldUntilItIsHeard(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	s.fail["cancel"] = []error{errLost}
	run(m, press(m, "esc"))
	if got := s.calls(); got != "cancel aex_1\ncancel aex_1" {
		t.Errorf("got %s", got)
	}
	if press(m, "esc") != nil || !strings.Contains(m.status(), "cancelling") {
		t.Errorf("it is asked for again; status %q", m.status())
	}
}

func TestCtrlCClearsThenCancelsThenLeaves(t *testing.T) {
	t.Parallel()
	m, s, l := talking(t)
	now := noon
	m.o.Now = func() time.Time { return now }
	typed(m, "text")
	if press(m, "ctrl+c") != nil || !m.box.empty() {
		t.Error("it does not clear the box alone")
	}
	run(m, press(m, "ctrl+c"))
	if s.calls() != "cancel aex_1" {
		t.Errorf("asked %q", s.calls())
	}
	l.take(l.event("aex_1", &eventv1.TurnCancelled{}))
	if press(m, "ctrl+c") != nil || !strings.Contains(m.hint, "again leaves") {
		t.Error("it leaves at once")
	}
	now = now.Add(3 * time.Second)
	if press(m, "ctrl+c") != nil {
		t.Error("it leaves after a long while")
	}
	press(m, "left")
	if press(m, "ctrl+c") != nil {
		t.Error("it leaves though another key came between")
	}
	now = now.Add(time.Second)
	cmd := press(m, "ctrl+c")
	if cmd == nil {
		t.Fatal("it does not leave")
	}
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("it does something else")
	}
	if s.calls() != "cancel aex_1" {
		t.Errorf("leaving asked for %q", s.calls())
	}
}

func TestCtrlDLeavesAnEmptyBoxOnly(t *testing.T) {
	t.Parallel()
	m, _, _ := talking(t)
	typed(m, "ab")
	press(m, "left")
	if press(m, "ctrl+d") != nil || m.box.text() != "a" {
		t.Errorf("box %q", m.box.text())
	}
	press(m, "backspace")
	if cmd := press(m, "ctrl+d"); cmd == nil {
		t.Error("it does not leave")
	}
}

func TestLeavingWhileAMessageIsOnItsWayIsAskedTwice(t *testing.T) {
	t.Parallel()
	m, _, _ := talking(t)
	cmd := typed(m, "hello\r")
	if press(m, "ctrl+d") != nil || !strings.Contains(m.hint, "still being sent") {
		t.Errorf("hint %q", m.hint)
	}
	if press(m, "ctrl+d") == nil {
		t.Error("it does not leave")
	}
	run(m, cmd)
	if press(m, "ctrl+d") == nil {
		t.Error("it does not leave though the message is sent")
	}
}

func TestAQueuedMessageIsTakenBack(t *testing.T) {
	t.Parallel()
	m, s, l := talking(t)
	if press(m, "ctrl+x") != nil {
		t.Error("the running turn is taken back")
	}
	l.take(l.event("aex_2", &eventv1.InputQueued{Text: "older"}))
	l.take(l.event("aex_3", &eventv1.InputQueued{Text: "newest", Attachments: []*messagev1.Attachment{{Name: "a.png"}}}))
	s.cancelled = func(id string) bool { return id == "aex_3" }
	run(m, press(m, "ctrl+x"))
	if s.calls() != "cancel aex_3" || m.box.text() != "newest" || !strings.Contains(m.hint, "files") {
		t.Errorf("asked %q, box %q", s.calls(), m.box.text())
	}
	run(m, press(m, "ctrl+x")) // the log has not said so yet
	if s.calls() != "cancel aex_3\ncancel aex_2" || m.box.text() != "newest" {
		t.Errorf("asked %q, box %q", s.calls(), m.box.text())
	}
	if !strings.Contains(m.hint, "over already") {
		t.Errorf("hint %q", m.hint)
	}
}

func TestTheHistory(t *testing.T) {
	t.Parallel()
	m, _, l := talking(t)
	l.begin("aex_2", "second\nof two lines")
	typed(m, "draft")
	steps := []struct{ key, want string }{
		{"up", "second\nof two lines"}, {"up", "second\nof two lines"}, {"up", "first message"}, {"up", "first message"},
		{"down", "second\nof two lines"}, {"down", "draft"}, {"down", "draft"},
	}
	for i, s := range steps {
		if press(m, s.key); m.box.text() != s.want {
			t.Fatalf("step %d, %s: %q", i, s.key, m.box.text())
		}
	}
}

func TestSlashWords(t *testing.T) {
	t.Parallel()
	cases := []struct{ line, hint, box, view, asked string }{
		{line: "/help", view: "/attach FILE"},
		{line: "/usage", view: "tokens in"},
		{line: "/model", view: "The model is scripted"},
		{line: "/model a/b", view: "From the next message on the model is a/b."},
		{line: "/attach", hint: "/attach FILE", box: "/attach"},
		{line: "/attach missing.txt", hint: "no such file", box: "/attach missing.txt"},
		{line: "/attach 'my plan.png'", view: "with my plan.png"},
		{line: "/recover", hint: "no turn waits", box: "/recover"},
		{line: "/hlep", hint: "/help", box: "/hlep"},
		{line: "/usr/bin is full", hint: "is not known", box: "/usr/bin is full"},
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			m, s, _ := talking(t)
			m.Update(tea.WindowSizeMsg{Width: 100, Height: 60})
			run(m, typed(m, c.line+"\r"))
			if !strings.Contains(m.hint, c.hint) || m.box.text() != c.box || !strings.Contains(m.View().Content, c.view) || s.calls() != c.asked {
				t.Errorf("hint %q, box %q, asked %q\n%s", m.hint, m.box.text(), s.calls(), m.View().Content)
			}
		})
	}
}

func TestWhatIsChosenGoesWithTheNextMessages(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	typed(m, "/attach plan.png\r")
	typed(m, "/model a/b\r")
	run(m, typed(m, "look\r"))
	run(m, typed(m, "again\r"))
	want := `upload plan.png
send ses_1 "look" model=a/b files=[art_plan.png] key_1
send ses_1 "again" model=a/b files=[] key_2`
	if got := s.calls(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestRecoverLetsAWaitingTurnGoOn(t *testing.T) {
	t.Parallel()
	m, s, l := talking(t)
	l.take(l.event("aex_1", &eventv1.TurnWaiting{WaitingFor: "outcome_unknown"}))
	if !strings.Contains(m.status(), "waits for outcome_unknown") {
		t.Errorf("status %q", m.status())
	}
	s.fail["recover"] = []error{errRefused}
	run(m, typed(m, "/recover\r"))
	if s.calls() != "recover aex_1" || !strings.Contains(m.View().Content, "/recover: no such agent") {
		t.Errorf("asked %q\n%s", s.calls(), m.View().Content)
	}
}

func TestANewSession(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	m.talk.folder = "/work"
	typed(m, "/new\r")
	if m.talk.session != "" || !strings.Contains(m.View().Content, "cadre chat --session ses_1") {
		t.Errorf("session %q\n%s", m.talk.session, m.View().Content)
	}
	m.Update(typed(m, "hi\r")())
	m.stopFeed()
	if got := s.calls(); !strings.HasPrefix(got, `run reviewer "/work" "hi"`) {
		t.Errorf("asked %q", got)
	}
}

func TestTooLongAMessageIsNotSent(t *testing.T) {
	t.Parallel()
	m, s, _ := talking(t)
	m.Update(tea.PasteMsg{Content: strings.Repeat("x", largestMessage+1)})
	if press(m, "enter") != nil || s.calls() != "" || m.box.empty() {
		t.Error("it is sent")
	}
}
