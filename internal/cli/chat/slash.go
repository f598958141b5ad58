package chat

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cadre-dev/cadre/internal/near"
)

// slashWords are what a line that begins with a slash can ask for.
var slashWords = []string{"help", "attach", "model", "usage", "recover", "new", "quit"}

const help = `/attach FILE   show a file to the model with the next message
/model NAME    use another model from the next message on
/usage         what the session has used
/recover       let a turn go on that waits or failed
/new           begin a new session with the same agent
/quit          leave; the work goes on
//text         send a text that begins with a slash

enter          send; while a turn runs, the message is queued
ctrl+j         new line; also alt+enter, and shift+enter in many terminals
up, down       in the first and last line: what was said before
esc            cancel the turn
ctrl+x         take the newest queued message back
ctrl+o         unfold and fold what tools were asked and answered
pgup, pgdown   scroll; also the mouse wheel, ctrl+home and ctrl+end
ctrl+c         clear the box, else cancel the turn, else twice: leave
ctrl+d         leave, when the box is empty`

// command does what a line with a slash says. What it does not know stays in the box.
func (m *model) command(line string) tea.Cmd {
	word, rest, _ := strings.Cut(strings.TrimSpace(line[1:]), " ")
	rest = strings.TrimSpace(rest)
	stopped := m.talk.stopped()
	switch {
	case word == "help":
		m.clear()
		m.talk.say(help)
	case word == "attach" && rest != "":
		m.attachFile(rest)
	case word == "attach":
		m.hint = "write /attach FILE"
		return nil
	case word == "model":
		m.clear()
		m.chooseModel(rest)
	case word == "usage":
		m.clear()
		m.talk.say(m.usage())
	case word == "recover" && stopped != nil:
		m.clear()
		return m.recover(stopped.id)
	case word == "recover":
		m.hint = "no turn waits, and none failed"
		return nil
	case word == "new":
		m.begin()
	case word == "quit" || word == "exit":
		return m.leave()
	default:
		m.unknown(word)
		return nil
	}
	m.scrolled = false
	return nil
}

func (m *model) unknown(word string) {
	m.hint = fmt.Sprintf("/%s is not known.%s /help lists what is; // sends a text with a slash", oneLine(word, 20), near.Hint(word, slashWords))
}

// mostAttachments is what the contract allows.
const mostAttachments = 16

// attachFile adds a file to the next message. Terminals put quotes around the
// names of files that are dropped on them.
func (m *model) attachFile(path string) {
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	if len(m.attach) == mostAttachments {
		m.hint = fmt.Sprintf("a message takes at most %d files", mostAttachments)
		return
	}
	if err := m.o.Server.Check(path); err != nil {
		m.hint = oneLine(err.Error(), 300)
		return
	}
	m.clear()
	m.attach = append(m.attach, path)
}

func (m *model) chooseModel(name string) {
	if name == "" {
		m.talk.say("The model is " + m.modelName() + ". /model NAME takes another one from the next message on.")
		return
	}
	m.model = name
	m.talk.say("From the next message on the model is " + name + ".")
}

// modelName is the model that answers next, as far as it is known.
func (m *model) modelName() string {
	switch {
	case m.model != "":
		return m.model
	case m.talk.model != "":
		return m.talk.model
	}
	return "the agent's own"
}

// usage says what the session used.
func (m *model) usage() string {
	turns := m.talk.all()
	if len(turns) == 0 {
		return "Nothing was used yet."
	}
	words := func(t *turn) string {
		s := fmt.Sprintf("%d tokens in (%d of them cached), %d out, cost %s", t.spent.GetInputTokens(), t.spent.GetCachedInputTokens(), t.spent.GetOutputTokens(), m.o.Cost(t.spent))
		if t.spent.GetEstimated() {
			s += " (partly estimated)"
		}
		return s
	}
	all := &turn{spent: m.talk.spent()}
	return fmt.Sprintf("last turn  %s\nsession    %s, turns %d", words(turns[len(turns)-1]), words(all), len(turns))
}

// begin leaves the session for a new one, which the next message makes.
func (m *model) begin() {
	switch {
	case len(m.outbox) > 0:
		m.hint = "a message is still being sent"
		return
	case m.o.Agent == "" && m.talk.agent == "":
		m.hint = "the session is still being read"
		return
	}
	agent, folder, left := m.talk.agent, m.talk.folder, m.talk.session
	m.clear()
	if m.feed != nil {
		m.feed.cancel()
	}
	m.feed, m.talk, m.link = nil, newTalk(), live
	m.talk.agent, m.talk.folder = agent, folder
	if left != "" {
		m.left = left
		m.talk.say("A new session begins with the next message. The one before goes on: cadre chat --session " + left)
	}
}
