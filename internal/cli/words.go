package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// hidden says whether a character rewrites the screen instead of standing on it:
// controls, and marks that turn the direction of text.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// visible leaves out what could rewrite the screen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hidden(r) {
			return -1
		}
		return r
	}, s)
}

// oneLine shows the beginning of a text in one line.
func oneLine(s string, most int) string {
	s = strings.Map(blanked, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// blanked is a character, or a blank where it would rewrite the screen.
func blanked(r rune) rune {
	if hidden(r) {
		return ' '
	}
	return r
}

// subject is the one argument that tells a person what a call is about.
func subject(arguments string) string {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	for _, key := range []string{"path", "pattern", "command", "url", "query"} {
		if s, ok := args[key].(string); ok {
			return oneLine(s, 60)
		}
	}
	return ""
}

// join puts a dot between the parts that say something.
func join(parts ...string) string {
	var kept []string
	for _, s := range parts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, " · ")
}

func millis(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return (time.Duration(ms) * time.Millisecond).Round(10 * time.Millisecond).String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func tokens(u *messagev1.Usage) string {
	s := fmt.Sprintf("%d tokens in, %d out", u.GetInputTokens(), u.GetOutputTokens())
	if u.GetEstimated() {
		s += " (partly estimated)"
	}
	if u.GetCostNanoUsd() != 0 || u.GetUnpricedCalls() != 0 {
		s += " · cost " + costWords(u)
	}
	return s
}
