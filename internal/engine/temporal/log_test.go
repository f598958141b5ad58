package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/server/common/log/tag"
)

func TestLinesAreMapped(t *testing.T) {
	t.Parallel()
	r := newRecord()
	l := newLines(slog.New(r))
	server, client := serverLines{l}, clientLines{l}
	server.Info("hidden: informational")
	server.Error("hidden: canceled", tag.Error(fmt.Errorf("because: %w", context.Canceled)))
	server.Warn("hidden: late", tag.Error(context.DeadlineExceeded))
	server.Error("shown: late", tag.Error(context.DeadlineExceeded))
	server.With(tag.WorkflowID("w")).Warn("shown: warning", tag.NewInt("wf-history-size", 3))
	client.Error("hidden: canceled", "Error", context.Canceled)
	client.With("WorkflowID", "w").Error("shown: failure", "RunID", "r", "Error", errors.New("broken"))
	l.state.quiet.Store(true)
	server.Error("hidden: the engine stops")

	got := r.String()
	for _, want := range []string{
		`level=WARN msg="engine line" part=server line="shown: late"`,
		`level=WARN msg="engine line" part=server line="shown: warning" wf_id=w wf_history_size=3`,
		`level=ERROR msg="engine line" part=client line="shown: failure" workflow_id=w run_id=r error=broken`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(got, "hidden") {
		t.Errorf("the log shows too much:\n%s", got)
	}
}

func TestFatalLineEndsTheServerOnly(t *testing.T) {
	t.Parallel()
	l := newLines(slog.New(slog.DiscardHandler))
	taken := &net.OpError{Op: "listen", Err: syscall.EADDRINUSE}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serverLines{l}.Fatal("no port", tag.Error(taken))
		t.Error("Fatal returned")
	}()
	<-done
	if err := l.state.failure(); err == nil || !strings.Contains(err.Error(), "no port") || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the failure is %v", err)
	}
}

func TestRepeatedLinesAreShownSomeTimes(t *testing.T) {
	t.Parallel()
	r := newRecord()
	l := serverLines{newLines(slog.New(r))}
	for range 10 * mostAlike {
		l.Error("the same again")
	}
	l.Error("another one")
	if n := strings.Count(r.String(), "the same again"); n != mostAlike {
		t.Errorf("the line is shown %d times; want %d", n, mostAlike)
	}
	if !strings.Contains(r.String(), "another one") {
		t.Error("another line is not shown")
	}
	if s := l.state; s.tooOften("the same again", time.Now().Add(time.Minute)) {
		t.Error("the line is hidden for ever")
	}
}
