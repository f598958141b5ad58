package scripted

import (
	"fmt"
	"strconv"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// position is where a request stands in the script. What a compaction took out of the
// history counts as though it were there.
type position struct {
	turn     int // user messages so far, counted from 1; 0 when there is none
	step     int // the model's answers since the last user message
	user     string
	lastTool *messagev1.ToolResult // nil when no tool ran
}

// locate reads the position off a history.
func locate(history []*messagev1.Item) position {
	var p position
	for _, item := range history {
		switch {
		case item.GetUser() != nil:
			p.turn, p.step, p.user = p.turn+1, 0, item.GetUser().GetText()
		case item.GetAssistant() != nil && item.GetAssistant().GetFinishReason() != compacted:
			p.step++
		case item.GetDeveloper().GetSummary() != nil:
			p.turn += int(item.GetDeveloper().GetSummary().GetUserMessages())
			p.step += int(item.GetDeveloper().GetSummary().GetAnswers())
		case item.GetToolResult() != nil:
			p.lastTool = item.GetToolResult()
		}
	}
	return p
}

// refuse is the error of a script that does not fit the request.
func (s *script) refuse(p position, format string, args ...any) error {
	return &model.Error{
		Category: model.BadRequest, Status: 400, Code: "script",
		Message: fmt.Sprintf("%s, turn %d, step %d: %s", s.path, p.turn, p.step+1, fmt.Sprintf(format, args...)),
	}
}

// at finds the turn and the step for a position.
func (s *script) at(p position) (*turn, *step, error) {
	if p.turn == 0 {
		return nil, nil, s.refuse(p, "the history holds no user message")
	}
	i := p.turn - 1
	if s.repeat {
		i %= len(s.turns)
	}
	if i >= len(s.turns) {
		return nil, nil, s.refuse(p, "the script has only %d turns; add one, or set `repeat: true`", len(s.turns))
	}
	t := &s.turns[i]
	if t.when != nil && !t.when.MatchString(p.user) {
		return nil, nil, s.refuse(p, "the user's message %.200q does not match `when`, %q", p.user, t.when)
	}
	if p.step >= len(t.steps) {
		return nil, nil, s.refuse(p, "the script has only %d steps for this turn", len(t.steps))
	}
	return t, &t.steps[p.step], nil
}

// fails tells whether a step's error is due: always, or for the first requests of
// the step. How many there were follows from the request's number within its
// execution, less the earlier steps and the failures that the script gave them.
func (t *turn) fails(p position, f *failure, requestID string) bool {
	if f == nil || f.times == 0 {
		return f != nil
	}
	_, number, _ := strings.Cut(requestID, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return true
	}
	return n-1-p.step-t.failed(p.step) < f.times
}

// failed is how many requests of the first steps the script has fail.
func (t *turn) failed(steps int) (n int) {
	for _, earlier := range t.steps[:steps] {
		if earlier.fail != nil {
			n += earlier.fail.times
		}
	}
	return n
}

// check compares a request with what the script expects.
func (s *script) check(e *expectation, p position, req model.Request) error {
	if e == nil {
		return nil
	}
	last := "no tool ran"
	if p.lastTool != nil {
		last = fmt.Sprintf("%.300q", p.lastTool.GetText())
	}
	switch {
	case e.lastTool != nil && (p.lastTool == nil || !strings.Contains(p.lastTool.GetText(), *e.lastTool)):
		return s.refuse(p, "the newest tool result was expected to contain %q, but: %s", *e.lastTool, last)
	case e.lastToolIsError != nil && (p.lastTool == nil || p.lastTool.GetIsError() != *e.lastToolIsError):
		return s.refuse(p, "the newest tool result was expected to have is_error %v, but: %s", *e.lastToolIsError, last)
	case e.instructions != nil && !strings.Contains(req.Instructions, *e.instructions):
		return s.refuse(p, "the instructions were expected to contain %q, but: %.300q", *e.instructions, req.Instructions)
	}
	offered := map[string]bool{}
	var names []string
	for _, t := range req.Tools {
		offered[t.Name] = true
		names = append(names, t.Name)
	}
	for _, name := range e.offers {
		if !offered[name] {
			return s.refuse(p, "the tool %q was expected to be offered, but: %q", name, names)
		}
	}
	return nil
}
