//go:build failpoint && unix

package failpoint

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What can happen at a place.
const (
	doKill  = "kill"
	doStop  = "stop"
	doError = "error"
	doDelay = "delay"
)

// action is what happens at one place.
type action struct {
	do    string
	at    int           // the hit, from 1; 0 for every hit
	delay time.Duration // of doDelay
}

// parse reads the actions of a text such as `a.before=kill@3;b=delay:200ms`.
func parse(text string) (map[string][]action, error) {
	actions := map[string][]action{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, what, ok := strings.Cut(part, "=")
		a, err := parseAction(what)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%s: %q is none of name=kill@3, name=stop@1, name=error@2 and name=delay:200ms, where the number after @ counts hits from 1", envPlaces, part)
		}
		actions[name] = append(actions[name], a)
	}
	return actions, nil
}

func parseAction(text string) (a action, err error) {
	do, at, numbered := strings.Cut(text, "@")
	if numbered {
		if a.at, err = strconv.Atoi(at); err != nil || a.at < 1 {
			return a, fmt.Errorf("%q is no number of a hit", at)
		}
	}
	kind, length, timed := strings.Cut(do, ":")
	a.do = kind
	switch {
	case kind == doDelay && timed:
		a.delay, err = time.ParseDuration(length)
		if err == nil && a.delay < 0 {
			err = fmt.Errorf("%s is negative", a.delay)
		}
	case !timed && numbered && (kind == doKill || kind == doStop || kind == doError):
	default:
		err = fmt.Errorf("%q is no action", text)
	}
	return a, err
}
