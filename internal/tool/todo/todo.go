// Package todo is the tool with which a model keeps the list of its steps. It keeps
// nothing: each call gives the whole list, and the list lives in the session's history,
// where the model and whoever watches read it. A call may run again.
package todo

import (
	"context"
	_ "embed" // for the texts beside this file
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	mostItems = 100
	mostText  = 500 // bytes of one item
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type list struct{}

// New makes the tool.
func New() tool.Tool { return list{} }

// Spec describes the tool.
func (list) Spec() tool.Spec {
	return tool.Spec{Name: "todo", Description: description, Schema: schema, Class: tool.ReadOnly, NoFiles: true}
}

type arguments struct {
	Items []item `json:"items"`
}

type item struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// The statuses of an item.
const (
	pending    = "pending"
	inProgress = "in_progress"
	done       = "done"
)

// marks stand before an item of each status.
var marks = map[string]string{pending: "[ ]", inProgress: "[>]", done: "[x]"}

// Run answers the list.
func (list) Run(ctx context.Context, _ tool.Env, call tool.Call) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return *r, nil
	}
	if problems := args.check(); len(problems) > 0 {
		return tool.Fail("%s. The list stays as it was.", strings.Join(problems, "; ")), nil
	}
	return args.show(), nil
}

// check tells what is wrong with the list.
func (a arguments) check() []string {
	if len(a.Items) > mostItems {
		return []string{fmt.Sprintf("`items` has %d elements, more than %d: join steps", len(a.Items), mostItems)}
	}
	var problems, current []string
	for i, one := range a.Items {
		switch {
		case marks[one.Status] == "":
			problems = append(problems, fmt.Sprintf("`items[%d].status` must be pending, in_progress or done, not %.40q", i, one.Status))
		case strings.TrimSpace(one.Text) == "":
			problems = append(problems, fmt.Sprintf("`items[%d].text` must not be empty: say what the step is", i))
		case len(one.Text) > mostText:
			problems = append(problems, fmt.Sprintf("`items[%d].text` has %d bytes, more than %d: say it in fewer words", i, len(one.Text), mostText))
		}
		if one.Status == inProgress {
			current = append(current, fmt.Sprintf("items[%d]", i))
		}
	}
	if len(current) > 1 {
		problems = append(problems, fmt.Sprintf("at most one item may be in_progress, but %s are: leave the one that you work on now, and set the others to pending or done", near.List(current)))
	}
	return problems
}

// show writes the list for the model and for people.
func (a arguments) show() tool.Result {
	if len(a.Items) == 0 {
		return tool.Result{Text: "The list is empty.", Summary: "empty"}
	}
	var b strings.Builder
	count := map[string]int{}
	for _, one := range a.Items {
		count[one.Status]++
		fmt.Fprintf(&b, "%s %s\n", marks[one.Status], strings.Join(strings.Fields(one.Text), " "))
	}
	summary := fmt.Sprintf("%d of %d done", count[done], len(a.Items))
	fmt.Fprintf(&b, "%s, %d in progress, %d pending.\n", summary, count[inProgress], count[pending])
	if count[inProgress] == 0 && count[pending] > 0 {
		next := a.Items[slices.IndexFunc(a.Items, func(i item) bool { return i.Status == pending })]
		fmt.Fprintf(&b, "Nothing is in progress; the next step is: %s\n", strings.Join(strings.Fields(next.Text), " "))
	}
	return tool.Result{Text: b.String(), Summary: summary}
}
