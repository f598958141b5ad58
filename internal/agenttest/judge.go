package agenttest

import (
	"fmt"
	"strconv"
	"strings"
)

// Difference is one thing that came otherwise than expected.
type Difference struct {
	What  string   // what was looked at, such as `answer` or `files README.md`
	Lines []string // expected and came, for people
	// Of a text that was expected to equal another one: where that stands below the
	// turn, and what came instead. Path is nil when there is nothing to rewrite.
	Path []string
	Came string
}

// Reader gives the text of a file in the workspace; false when there is none.
type Reader func(name string) (text string, there bool, err error)

// Judge compares what is expected with what came. The error is that of a file that
// cannot be read.
func (e Expect) Judge(o Outcome, read Reader) ([]Difference, error) {
	all := e.end(o)
	if e.Answer != nil {
		all = append(all, e.Answer.judge("answer", o.Answer, []string{"answer"})...)
	}
	if e.Tools != nil {
		all = append(all, exactly(e.Tools, o.Tools)...)
	}
	if e.ToolsInclude != nil {
		all = append(all, including(e.ToolsInclude, o.Tools)...)
	}
	if e.ModelCalls > 0 && o.ModelCalls > e.ModelCalls {
		all = append(all, differ("modelCalls", fmt.Sprintf("at most %d", e.ModelCalls), strconv.Itoa(o.ModelCalls)))
	}
	for _, f := range e.Files {
		text, there, err := read(f.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, f.judge(text, there)...)
	}
	return all, nil
}

// end judges how the turn ended. Without a word about it, it must have completed.
func (e Expect) end(o Outcome) []Difference {
	phase := e.Phase
	switch {
	case phase != "":
	case e.Error != "":
		phase = "failed"
	default:
		phase = "completed"
	}
	came := o.Phase
	if came == "" {
		came = "no end"
	}
	if phase != o.Phase {
		if o.Error != "" {
			came += ", " + o.Error + ": " + o.Message
		}
		return []Difference{differ("phase", phase, came)}
	}
	if e.Error != "" && e.Error != o.Error {
		return []Difference{differ("error", e.Error, o.Error+": "+o.Message)}
	}
	if e.SegmentLimit != o.SegmentLimit {
		return []Difference{differ("segmentLimit", orNone(e.SegmentLimit), orNone(o.SegmentLimit))}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func differ(what, expected, came string) Difference {
	return Difference{What: what, Lines: append(marked("- ", expected), marked("+ ", came)...)}
}

// marked puts a mark before each line.
func marked(mark, text string) []string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = mark + l
	}
	return lines
}

// judge compares a text. path is where the expectation stands below the turn's.
func (t *Text) judge(what, came string, path []string) []Difference {
	var all []Difference
	if t.Equals != nil && *t.Equals != came {
		all = append(all, Difference{
			What: what, Lines: lines(*t.Equals, came), Path: append([]string{"expect"}, append(path, "equals")...), Came: came,
		})
	}
	for _, piece := range t.Contains {
		if !strings.Contains(came, piece) {
			all = append(all, differ(what+" contains", piece, orEmpty(came)))
		}
	}
	if t.Matches != nil && !t.Matches.MatchString(came) {
		all = append(all, differ(what+" matches", t.Matches.String(), orEmpty(came)))
	}
	if t.JSON != nil {
		got, err := decode(came)
		if err != nil {
			return append(all, differ(what+" json", show(t.JSON), "no JSON: "+orEmpty(came)))
		}
		if missing := within("", t.JSON, got); len(missing) > 0 {
			all = append(all, Difference{What: what + " json", Lines: missing})
		}
	}
	return all
}

func orEmpty(s string) string {
	if s == "" {
		return "(empty)"
	}
	return s
}

func (f File) judge(text string, there bool) []Difference {
	what := "files " + f.Name
	switch {
	case f.Absent && there:
		return []Difference{differ(what, "absent", "a file:\n"+text)}
	case f.Absent:
		return nil
	case !there:
		return []Difference{differ(what, "a file", "absent")}
	}
	return f.Text.judge(what, text, []string{"files", f.Name})
}
