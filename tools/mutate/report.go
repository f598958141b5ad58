package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// summary is what became of a target's changes.
type summary struct {
	name      string
	noticed   int
	invalid   int // that do not compile
	explained int
	survivors []change
}

func (s summary) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d changes noticed, %d explained, %d that do not compile, %d that no test notices\n",
		s.name, s.noticed, s.explained, s.invalid, len(s.survivors))
	for _, c := range s.survivors {
		fmt.Fprintf(b, "  %s:%d %s: %s\n", c.file, c.line, c.fn, c.what)
	}
}

// readAccepted reads the survivors that change no outcome: lines of file, function, change
// and reason with tabs between. A line that begins with # is a comment.
func readAccepted(name string) (map[string]bool, error) {
	data, err := os.ReadFile(name) //nolint:gosec // a file of the checkout that was named
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	accepted := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || fields[3] == "" {
			return nil, fmt.Errorf("%s:%d: want file, function, change and reason with tabs between", name, i+1)
		}
		accepted[strings.Join(fields[:3], "\t")] = true
	}
	return accepted, nil
}

// short puts code on one line of bearable length.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 160 {
		return strings.ToValidUTF8(s[:120], "") + " … " + strings.ToValidUTF8(s[len(s)-35:], "")
	}
	return s
}
