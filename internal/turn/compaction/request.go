package compaction

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// summaryMark opens the message that stands for what was taken out.
const summaryMark = "[Earlier parts of this conversation were taken out to make room. This is what they came to:]\n\n"

// ownForm opens what a provider keeps in its own form.
const ownForm = "[Earlier parts of this conversation were taken out to make room. The provider's own record of them follows.]"

// prompt is what the model is told to make a summary.
const prompt = `[The conversation above comes to its limit of length. Write the summary that takes its place.]
Whoever goes on with the work sees this summary, the first message, the newest messages of the person and the newest results, and nothing else of what stands above. Write down, under short headings:
1. What is asked for, with every condition and wish that still holds, also when it was said in passing.
2. What has been done, with the names of files, commands, ids and addresses exactly as they are, and what came of it.
3. What was found out and decided, with the reason; what was tried and failed, so that it is not tried again.
4. What is under way or still to be done, and the very next step.
Take over what an earlier summary says that still counts. Say only what the conversation shows; where something is not known, say so. Call no tool. Answer with the summary alone.`

// Prompt asks for the summary. It stands behind the history.
func Prompt() *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: prompt}}}
}

// shortResult is what is left of a tool's result when room is short, in bytes.
const shortResult = 1024

// Fit makes a history fit into so many bytes to be summarised: results of tools are
// shortened, the oldest first; then answers with their results are left out, the oldest
// first, and at last messages of people. The first message and the newest part stay. What
// fits is answered as it is, so that the request begins like the one before.
func Fit(history []*messagev1.Item, room int) []*messagev1.Item {
	over := Bytes(history) - room
	if over <= 0 {
		return history
	}
	out := slices.Clone(history)
	for i, item := range out {
		if over <= 0 {
			return out
		}
		if r := item.GetToolResult(); len(r.GetText()) > shortResult || len(r.GetAttachments()) > 0 {
			out[i] = shortened(r)
			over -= itemBytes(item) - itemBytes(out[i])
		}
	}
	for _, people := range []bool{false, true} {
		out, over = leaveOut(out, over, people)
	}
	return out
}

// shortened is a result with its middle left out.
func shortened(r *messagev1.ToolResult) *messagev1.Item {
	r = proto.CloneOf(r)
	r.Text, r.Attachments = Shorten(r.GetText(), shortResult), nil
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: r}}
}

// leaveOut takes groups out of a history, the oldest first, until nothing is over: answers
// with their results, or messages. The first group that has a person's message, and the
// newest group, stay.
func leaveOut(items []*messagev1.Item, over int, people bool) ([]*messagev1.Item, int) {
	var out []*messagev1.Item
	first := true
	for at := 0; at < len(items); {
		end := at + 1
		for end < len(items) && items[end].GetToolResult() != nil {
			end++
		}
		group := items[at:end]
		task := first && group[0].GetUser() != nil
		first = first && !task
		if over > 0 && !task && end < len(items) && (group[0].GetUser() != nil) == people && (people || !isSummary(group[0])) {
			over -= Bytes(group)
		} else {
			out = append(out, group...)
		}
		at = end
	}
	return out, over
}

// Shorten leaves the middle of a text out: three quarters of the room are its head, one is
// its tail, cut between characters. A text that fits stays as it is.
func Shorten(text string, room int) string {
	if len(text) <= room {
		return text
	}
	head, tail := room*3/4, len(text)-room/4
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[... %d of %d bytes are left out here ...]\n%s", text[:head], tail-head, len(text), text[tail:])
}
