package compaction

import (
	"slices"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// keptBytes bounds what stays of people's messages, the task apart; each of the task and the
// newest message has as much for itself. About 20 000 tokens.
const keptBytes = 80_000

// Plan is a history, divided.
type Plan struct {
	Kept    []*messagev1.Item // the task and the newest messages of people, oldest first
	Tail    []*messagev1.Item // what the running turn needs as it is: what no answer came to, and the answer whose calls it is about
	Dropped []*messagev1.Item // what a summary will stand for
	count   *messagev1.Summary
}

// Split divides a history whose calls all have their results. It answers false when there
// is nothing that a summary could stand for.
func Split(history []*messagev1.Item) (Plan, bool) {
	at := tail(history)
	head := history[:at]
	p := Plan{Tail: history[at:], count: &messagev1.Summary{}}
	stays := staying(head)
	for i, item := range head {
		switch {
		case stays[i]:
			p.Kept = append(p.Kept, bounded(item))
		default:
			p.Dropped = append(p.Dropped, item)
		}
		p.tally(item, stays[i])
	}
	return p, len(p.Dropped) > 0 && !(len(p.Dropped) == 1 && isSummary(p.Dropped[0]))
}

// tally counts what a summary stands for.
func (p *Plan) tally(item *messagev1.Item, stays bool) {
	c := p.count
	switch before := item.GetDeveloper().GetSummary(); {
	case stays:
		c.Answers = 0
		return
	case before != nil:
		c.Items += before.GetItems()
		c.UserMessages += before.GetUserMessages()
		c.Answers += before.GetAnswers()
		return
	case item.GetUser() != nil: // an old one: a newer one stays
		c.UserMessages++
	case item.GetAssistant() != nil:
		c.Answers++
	}
	c.Items++
}

func isSummary(item *messagev1.Item) bool { return item.GetDeveloper().GetSummary() != nil }

// tail is where that begins which has to stay as it is.
func tail(history []*messagev1.Item) int {
	at := len(history)
	for at > 0 && history[at-1].GetAssistant() == nil {
		at--
	}
	if at == 0 || at < len(history) && history[at].GetUser() != nil {
		return at
	}
	return at - 1
}

// staying tells which messages of people stay: the first, the newest, and those before it
// as far as there is room.
func staying(head []*messagev1.Item) []bool {
	stays := make([]bool, len(head))
	room, newest := keptBytes, true
	for i, item := range slices.Backward(head) {
		if item.GetUser() == nil {
			continue
		}
		if n := itemBytes(item); newest || n <= room {
			stays[i] = true
			room -= min(n, keptBytes)
		} else {
			room = 0 // no gap among those that stay
		}
		newest = false
	}
	if first := slices.IndexFunc(head, func(i *messagev1.Item) bool { return i.GetUser() != nil }); first >= 0 {
		stays[first] = true
	}
	return stays
}

// bounded is a message that stays, without the middle of what is too long.
func bounded(item *messagev1.Item) *messagev1.Item {
	if itemBytes(item) <= keptBytes {
		return item
	}
	user := proto.CloneOf(item.GetUser())
	user.Text = Shorten(user.GetText(), keptBytes/2)
	user.Attachments = nil
	user.Text += "\n\n[The files that came with this message are left out here.]"
	if len(item.GetUser().GetAttachments()) == 0 {
		user.Text = Shorten(item.GetUser().GetText(), keptBytes)
	}
	return &messagev1.Item{Item: &messagev1.Item_User{User: user}}
}

// History is what takes the place of the old one. With items of a provider's own form they
// stand behind a word on what they are; text is the summary otherwise.
func (p Plan) History(text, provider string, own []*messagev1.Item) []*messagev1.Item {
	count := proto.CloneOf(p.count)
	count.Provider = provider
	if provider != "" {
		text = ownForm
	} else {
		text = summaryMark + text
	}
	summary := &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: text, Summary: count}}}
	return slices.Concat(p.Kept, []*messagev1.Item{summary}, own, p.Tail)
}

// KeptItems is how many items stay as they were.
func (p Plan) KeptItems() int { return len(p.Kept) + len(p.Tail) }
