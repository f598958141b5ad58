package temporal

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	sdklog "go.temporal.io/sdk/log"
	serverlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// lines carries log lines of the server and of its client into the engine's log.
// Their informational lines become debug lines, their debug lines are dropped.
type lines struct {
	log   *slog.Logger
	state *lineState
	tags  []any // key, value, …
}

// lineState is shared by all lines of one start.
type lineState struct {
	quiet atomic.Bool // the engine stops: complaints are expected

	once   sync.Once
	failed chan struct{} // closed when the server gave itself up
	reason error

	mu    sync.Mutex
	since time.Time
	shown map[string]int // lines of a text in the minute that began then
}

// mostAlike is how many lines of one text a minute may show. A server whose files
// are damaged repeats itself many times a second, and would fill the disk.
const mostAlike = 20

// tooOften counts a line and tells whether its like was shown enough.
func (s *lineState) tooOften(msg string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil || now.Sub(s.since) >= time.Minute {
		s.since, s.shown = now, map[string]int{}
	}
	s.shown[msg]++
	return s.shown[msg] > mostAlike
}

func newLines(log *slog.Logger) *lines {
	return &lines{log: log, state: &lineState{failed: make(chan struct{})}}
}

// fail records why the server cannot go on. The first reason stays.
func (s *lineState) fail(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.failed)
	})
}

// failure is nil while the server works.
func (s *lineState) failure() error {
	select {
	case <-s.failed:
		return s.reason
	default:
		return nil
	}
}

// expected are complaints about what we chose or report ourselves.
var expected = []string{
	"Activity error.",                 // handlers log it, with the cause
	"HTTP API port has not been set.", // nor shall it
	"Slow gRPC call",                  // callers see their own deadlines
}

func isExpected(msg string) bool {
	return slices.ContainsFunc(expected, func(start string) bool { return strings.HasPrefix(msg, start) })
}

// milder is the level of a line about an error. Calls that were given up are tried
// again by who made them, and a busy machine makes many.
func milder(level slog.Level, args []any) slog.Level {
	for n := 1; n < len(args); n += 2 {
		err, ok := args[n].(error)
		if text, isText := args[n].(string); isText && args[n-1] == "error" {
			err, ok = errors.New(text), true
		}
		switch {
		case !ok:
		case strings.Contains(err.Error(), context.Canceled.Error()):
			return slog.LevelDebug
		case strings.Contains(err.Error(), context.DeadlineExceeded.Error()):
			return level - (slog.LevelError - slog.LevelWarn)
		}
	}
	return level
}

func (l *lines) emit(level slog.Level, who, msg string, args []any) {
	if l.state.quiet.Load() || isExpected(msg) {
		level = slog.LevelDebug
	} else if level > slog.LevelDebug {
		level = milder(level, args)
	}
	if level > slog.LevelDebug && l.state.tooOften(msg, time.Now()) {
		level = slog.LevelDebug
	}
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	all := append([]any{"part", who, "line", msg}, l.tags...)
	l.log.Log(context.Background(), level, "engine line", append(all, args...)...)
}

func (l *lines) with(args []any) *lines {
	return &lines{log: l.log, state: l.state, tags: append(l.tags[:len(l.tags):len(l.tags)], args...)}
}

// serverLines is the logger of the server.
type serverLines struct{ *lines }

var _ serverlog.Logger = serverLines{}

func (serverLines) Debug(string, ...tag.Tag) {}

func (l serverLines) Info(msg string, tags ...tag.Tag)   { l.line(slog.LevelDebug, msg, tags) }
func (l serverLines) Warn(msg string, tags ...tag.Tag)   { l.line(slog.LevelWarn, msg, tags) }
func (l serverLines) Error(msg string, tags ...tag.Tag)  { l.line(slog.LevelError, msg, tags) }
func (l serverLines) DPanic(msg string, tags ...tag.Tag) { l.line(slog.LevelError, msg, tags) }

func (l serverLines) Panic(msg string, tags ...tag.Tag) {
	l.line(slog.LevelError, msg, tags)
	panic(msg)
}

// Fatal ends the goroutine and not the process: the platform goes on without its
// engine, which says in Health why it failed.
func (l serverLines) Fatal(msg string, tags ...tag.Tag) {
	l.line(slog.LevelError, msg, tags)
	reason := errors.New(msg)
	for _, t := range tags {
		if z, ok := t.(tag.ZapTag); ok {
			if err, ok := z.Field().Interface.(error); ok {
				reason = errors.Join(reason, err)
			}
		}
	}
	l.state.fail(reason)
	runtime.Goexit()
}

func (l serverLines) With(tags ...tag.Tag) serverlog.Logger {
	return serverLines{l.with(pairs(tags))}
}

func (l serverLines) line(level slog.Level, msg string, tags []tag.Tag) {
	if level == slog.LevelDebug && !l.log.Enabled(context.Background(), level) {
		return
	}
	l.emit(level, "server", msg, pairs(tags))
}

func pairs(tags []tag.Tag) []any {
	args := make([]any, 0, 2*len(tags))
	for _, t := range tags {
		args = append(args, snake(t.Key()), t.Value())
	}
	return args
}

// clientLines is the logger of the client and its worker.
type clientLines struct{ *lines }

var (
	_ sdklog.Logger     = clientLines{}
	_ sdklog.WithLogger = clientLines{}
)

func (clientLines) Debug(string, ...any) {}

func (l clientLines) Info(msg string, args ...any) {
	l.emit(slog.LevelDebug, "client", msg, snakes(args))
}
func (l clientLines) Warn(msg string, args ...any) {
	l.emit(slog.LevelWarn, "client", msg, snakes(args))
}
func (l clientLines) Error(msg string, args ...any) {
	l.emit(slog.LevelError, "client", msg, snakes(args))
}

func (l clientLines) With(args ...any) sdklog.Logger { return clientLines{l.with(snakes(args))} }

func snakes(args []any) []any {
	out := append([]any(nil), args...)
	for n := 0; n < len(out); n += 2 {
		if key, ok := out[n].(string); ok {
			out[n] = snake(key)
		}
	}
	return out
}

// snake turns wf-history-size, WorkflowID and workflowId into snake case.
func snake(key string) string {
	var b strings.Builder
	lower := false
	for _, r := range key {
		switch {
		case r == '-' || r == '.' || r == ' ':
			b.WriteByte('_')
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
