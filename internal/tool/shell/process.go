package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// notStarted is the result of a command that was not started, which is known. Where a
// sandbox leaves that open, or could not be asked, there is none.
func notStarted(ctx context.Context, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		why := reason(context.Cause(ctx))
		return tool.Result{Text: "[interrupted: the command was not started, because " + why + ". It had no effect.]", IsError: true, Summary: "not started"}, context.Cause(ctx)
	}
	var unknown *workspace.StartUnknown
	var unsent *workspace.StartUnavailable
	if errors.As(err, &unknown) || errors.As(err, &unsent) {
		return tool.Result{}, err // the turn says what that means
	}
	return tool.Fail("%s.", strings.TrimRight(fault.From(err).Message, ".")), nil
}

// foreground waits for a command, shows what it prints meanwhile, and ends it
// when its time is over or its turn ends. In each case its outcome is known: the
// Result stands also beside the error of an ended context.
func foreground(ctx context.Context, env tool.Env, p workspace.Process, limit time.Duration) (tool.Result, error) {
	over := time.NewTimer(limit)
	defer over.Stop()
	shown := &progress{env: env, process: p}
	defer shown.watch()()
	select {
	case <-p.Done():
		return finished(p), nil
	case <-over.C:
		if err := end(ctx, p, grace); err != nil {
			return tool.Result{}, err
		}
		return interrupted(p, fmt.Sprintf("it ran longer than its limit of %s", limit)), nil
	case <-ctx.Done():
		if err := end(ctx, p, abortGrace); err != nil {
			return tool.Result{}, err
		}
		return interrupted(p, reason(context.Cause(ctx))), context.Cause(ctx)
	}
}

// reason says in a few words why a turn's context ended.
func reason(cause error) string {
	var f *fault.Fault
	if errors.As(cause, &f) {
		return f.Message
	}
	return "the turn was interrupted"
}

// end ends a tree and proves it, whatever became of ctx.
func end(ctx context.Context, p workspace.Process, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), proofTime)
	defer cancel()
	return p.End(ctx, grace)
}

// background watches a command for an early end and leaves it running.
func background(ctx context.Context, p workspace.Process) (tool.Result, error) {
	soon := time.NewTimer(early)
	defer soon.Stop()
	select {
	case <-p.Done():
		return finished(p), nil
	case <-soon.C:
	case <-ctx.Done():
	}
	id := p.Command().ID
	text := fmt.Sprintf("Started in the background as process %s. Read its output with {\"read\": %q}, end it with {\"kill\": %q}.", id, id, id)
	if out := printed(p.Output(0)); out != "" {
		text += "\nIt printed so far:\n" + out
	}
	return tool.Result{Text: text, Summary: "process " + id}, nil
}

// read answers what a process printed since an earlier call read it. The same
// call, made again, answers from the same place.
func read(ctx context.Context, env tool.Env, call tool.Call, args arguments) (tool.Result, error) {
	p, err := env.Workspace.Process(env.Session, args.Read)
	if err != nil {
		return lost(ctx, env, err)
	}
	if args.Wait > 0 {
		wait := time.NewTimer(time.Duration(args.Wait) * time.Second)
		defer wait.Stop()
		select {
		case <-p.Done():
		case <-wait.C:
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}
	ended := isDone(p) // before the output is read, so that an end comes with all of it
	text := printed(p.Unread(call.ID))
	if text == "" {
		text = "Nothing new was printed."
	}
	if ended {
		return tool.Result{Text: text + "\n" + how(p), Summary: "ended"}, nil
	}
	return tool.Result{Text: fmt.Sprintf("%s\n[process %s runs since %s]", text, args.Read, since(p)), Summary: "running"}, nil
}

// kill ends a process and answers the end of what it printed.
func kill(ctx context.Context, env tool.Env, id string) (tool.Result, error) {
	p, err := env.Workspace.Process(env.Session, id)
	if err != nil {
		return lost(ctx, env, err)
	}
	if isDone(p) {
		return tool.Result{Text: "The process had ended before.\n" + how(p), Summary: "had ended"}, nil
	}
	if err := end(ctx, p, grace); err != nil {
		return tool.Fail("%v", err), nil
	}
	return tool.Result{Text: fmt.Sprintf("The process %s and all that it started are gone. It ran for %s.", id, since(p)), Summary: "ended"}, nil
}

func lost(ctx context.Context, env tool.Env, err error) (tool.Result, error) {
	if fault.ReasonOf(err) == fault.ReasonOf(workspace.ErrNoProcess) {
		return tool.Fail("%s.", fault.From(err).Message), nil
	}
	return tool.Refused(ctx, env.Workspace, "the process", err)
}

func isDone(p workspace.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func since(p workspace.Process) string {
	return time.Since(p.Started()).Round(100 * time.Millisecond).String()
}

// finished is the result of a command that ended by itself.
func finished(p workspace.Process) tool.Result {
	exit := p.Exit()
	return tool.Result{Text: join(printed(p.Output(0)), how(p)), IsError: exit.Code != 0 || exit.Signal != "", Summary: summary(exit)}
}

// interrupted is the result of a command that was ended.
func interrupted(p workspace.Process, why string) tool.Result {
	return tool.Result{
		Text: join(printed(p.Output(0)), fmt.Sprintf(
			"[interrupted: the command was ended after %s because %s. All of its processes are gone; what it did until then stays. It is not run again by itself.]", since(p), why)),
		IsError: true, Summary: "interrupted",
	}
}

func summary(exit workspace.Exit) string {
	if exit.Signal != "" {
		return exit.Signal
	}
	return fmt.Sprintf("exit %d", exit.Code)
}

// how says how a process ended.
func how(p workspace.Process) string {
	exit := p.Exit()
	switch {
	case exit.Ended:
		return "[the process was ended]"
	case exit.Signal != "":
		return fmt.Sprintf("[ended by the signal %s]", exit.Signal)
	}
	return fmt.Sprintf("[exit code %d]", exit.Code)
}

// printed is output as text, with a note where its middle was not kept.
func printed(out workspace.Output) string {
	clean := func(b []byte) string { return strings.ToValidUTF8(string(b), "\ufffd") }
	if out.Lost == 0 {
		return strings.TrimRight(clean(out.Text), "\n")
	}
	return strings.TrimRight(fmt.Sprintf("%s\n[... %d bytes of the output were not kept ...]\n%s", clean(out.Text[:out.Gap]), out.Lost, clean(out.Text[out.Gap:])), "\n")
}

func join(text, note string) string {
	if text == "" {
		return note
	}
	return text + "\n" + note
}
