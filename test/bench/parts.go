package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// sizes looks at the binary.
func (b *bench) sizes(context.Context) error {
	info, err := os.Stat(b.binary)
	if err != nil {
		return fmt.Errorf("%w (run `make build` first)", err)
	}
	size := info.Size() >> 20
	b.add("stripped binary with embedded engine", "≤ 240 MB", fmt.Sprintf("%d MB", size), size <= 240, "")
	return nil
}

// start measures exec to ready on existing data, and what an idle server uses.
func (b *bench) start(ctx context.Context) error {
	data := filepath.Join(b.work, "start")
	var all []time.Duration
	for i := range 6 {
		s, err := b.serve(ctx, data)
		if err != nil {
			return err
		}
		if i > 0 { // the first start makes the data
			all = append(all, s.took)
		}
		if i == 5 {
			b.idle(s)
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	p50 := percentile(all, 0.5)
	b.add("`cadre up` from exec to ready, existing data", "≤ 0.7 s", fmt.Sprintf("%.2f s (median of %d)", p50.Seconds(), len(all)), p50 <= 700*time.Millisecond, "")
	return nil
}

func (b *bench) idle(s *server) {
	time.Sleep(8 * time.Second) // what the start itself used is not idle
	before, began := cpu(s.cmd.Process.Pid), time.Now()
	time.Sleep(time.Duration(b.seconds) * time.Second)
	used := float64(cpu(s.cmd.Process.Pid)-before) / float64(time.Since(began)) * 100
	anon, rss := memory(s.cmd.Process.Pid)
	b.add("idle memory, anonymous / resident", "≤ 100 / ≤ 240 MB", fmt.Sprintf("%d / %d MB", anon, rss), anon <= 100 && rss <= 240, "")
	b.add("idle CPU", "≤ 1 %", fmt.Sprintf("%.1f %%", used), used <= 1, "")
}

// latency measures one client on one open session.
func (b *bench) latency(ctx context.Context) error {
	s, err := b.serve(ctx, filepath.Join(b.work, "latency"))
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	if err := b.agent(ctx, s, "quick", "steps: [{text: ok}]\n"); err != nil {
		return err
	}
	if err := b.agent(ctx, s, "token", "steps: [{text: ok, delay: 50ms}]\n"); err != nil {
		return err
	}
	if err := b.agent(ctx, s, "tools", toolScript(10), "list"); err != nil {
		return err
	}
	accepted, atModel, err := b.rounds1(ctx, s)
	if err != nil {
		return err
	}
	b.quantiles("input accepted (durable, FULL sync), one client", accepted, 3*time.Millisecond, 15*time.Millisecond, "over HTTP, with validation and authorization")
	b.quantiles("accepted → request bytes at the model", atModel, 15*time.Millisecond, 40*time.Millisecond, "until the subscriber has the event of the request's durable checkpoint")
	tokens, err := b.firstToken(ctx, s)
	if err != nil {
		return err
	}
	b.quantiles("model's first token → subscriber's frame", tokens, 5*time.Millisecond, 0, "upper bound: holds the checkpoint's commit and the timer's slack")
	overhead, err := b.toolTurns(ctx, s)
	if err != nil {
		return err
	}
	b.quantiles("overhead of a turn with 10 tool calls, model at 0 ms", overhead, 150*time.Millisecond, 0, "11 model requests, each call in its own step")
	return nil
}

func toolScript(n int) string {
	script := "steps:\n"
	for range n {
		script += "  - {tools: [{name: list, args: {path: \".\", depth: 1}}]}\n"
	}
	return script + "  - {text: done}\n"
}

// follow streams a session's frames into a channel.
func (s *server) follow(ctx context.Context, session string) (<-chan *sessionv1.Frame, error) {
	stream, err := s.sessions.SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: session}))
	if err != nil {
		return nil, err
	}
	frames := make(chan *sessionv1.Frame, 4096)
	go func() {
		defer close(frames)
		defer func() { _ = stream.Close() }()
		for stream.Receive() {
			frames <- stream.Msg()
		}
	}()
	return frames, nil
}

// until reads frames up to an event type of an execution.
func until(frames <-chan *sessionv1.Frame, execution, typ string, each func(*sessionv1.Frame)) error {
	for f := range frames {
		if each != nil {
			each(f)
		}
		if e := f.GetEvent(); e.GetExecutionId() == execution && e.GetType() == typ {
			return nil
		}
	}
	return fmt.Errorf("the stream ended before %s", typ)
}

func (b *bench) rounds1(ctx context.Context, s *server) (accepted, atModel []time.Duration, err error) {
	session, execution, err := s.run(ctx, "quick", "")
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frames, err := s.follow(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	if err := until(frames, execution, "turn.completed", nil); err != nil {
		return nil, nil, err
	}
	for range b.rounds {
		began := time.Now()
		res, err := s.sessions.SendMessage(ctx, connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "go"}))
		if err != nil {
			return nil, nil, err
		}
		done := time.Now()
		accepted = append(accepted, done.Sub(began))
		execution := res.Msg.GetExecution().GetMetadata().GetId()
		if err := until(frames, execution, "agent.model.request", nil); err != nil {
			return nil, nil, err
		}
		atModel = append(atModel, max(0, time.Since(done)))
		if err := until(frames, execution, "turn.completed", nil); err != nil {
			return nil, nil, err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return accepted, atModel, nil
}

// firstToken compares the frame's arrival with the request's time and the
// script's delay.
func (b *bench) firstToken(ctx context.Context, s *server) (all []time.Duration, err error) {
	for range b.rounds / 4 {
		session, execution, err := s.run(ctx, "token", "")
		if err != nil {
			return nil, err
		}
		stream, cancel := context.WithCancel(ctx)
		frames, err := s.follow(stream, session)
		if err != nil {
			cancel()
			return nil, err
		}
		var asked time.Time
		seen := false
		err = until(frames, execution, "turn.completed", func(f *sessionv1.Frame) {
			if f.GetEvent().GetType() == "agent.model.request" {
				asked = f.GetEvent().GetOccurredAt().AsTime()
			}
			if f.GetEphemeral() != nil && !seen {
				seen = true
				all = append(all, time.Since(asked)-50*time.Millisecond)
			}
		})
		cancel()
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b *bench) toolTurns(ctx context.Context, s *server) (all []time.Duration, err error) {
	folder := filepath.Join(b.work, "folder")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	for range b.rounds / 4 {
		began := time.Now()
		session, execution, err := s.run(ctx, "tools", folder)
		if err != nil {
			return nil, err
		}
		stream, cancel := context.WithCancel(ctx)
		frames, err := s.follow(stream, session)
		if err == nil {
			err = until(frames, execution, "turn.completed", nil)
		}
		cancel()
		if err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}

// throughput measures turns per second with 32 clients.
func (b *bench) throughput(ctx context.Context) error {
	s, err := b.serve(ctx, filepath.Join(b.work, "throughput"))
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	if err := b.agent(ctx, s, "quick", "steps: [{text: ok}]\n"); err != nil {
		return err
	}
	open, err := b.clients(ctx, func(ctx context.Context, count *atomic.Int64) error { return openSession(ctx, s, count) })
	if err != nil {
		return err
	}
	b.add("turns per second, 32 open sessions, model at 0 ms", "≥ 200", fmt.Sprintf("%.0f", open), open >= 200, "clients on the same machine")
	fresh, err := b.clients(ctx, func(ctx context.Context, count *atomic.Int64) error { return freshSessions(ctx, s, count) })
	if err != nil {
		return err
	}
	b.add("turns per second, a new session per turn", "≥ 80", fmt.Sprintf("%.0f", fresh), fresh >= 80, "clients on the same machine")
	anon, rss := memory(s.cmd.Process.Pid)
	b.add("memory after the load, anonymous / resident", "–", fmt.Sprintf("%d / %d MB", anon, rss), true, "")
	return nil
}

// clients runs 32 clients for the bench's time and answers what they counted per second.
func (b *bench) clients(ctx context.Context, client func(context.Context, *atomic.Int64) error) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.seconds)*time.Second)
	defer cancel()
	var count atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, 32)
	began := time.Now()
	for range 32 {
		all.Go(func() {
			// The server knows the deadline too and may end a stream just before it.
			if err := client(ctx, &count); err != nil && time.Since(began) < time.Duration(b.seconds)*time.Second-200*time.Millisecond {
				errs <- err
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(count.Load()) / time.Since(began).Seconds(), nil
	}
}

func openSession(ctx context.Context, s *server, count *atomic.Int64) error {
	session, execution, err := s.run(ctx, "quick", "")
	if err != nil {
		return err
	}
	frames, err := s.follow(ctx, session)
	if err != nil {
		return err
	}
	for {
		if err := until(frames, execution, "turn.completed", nil); err != nil {
			return err
		}
		count.Add(1)
		res, err := s.sessions.SendMessage(ctx, connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "go"}))
		if err != nil {
			return err
		}
		execution = res.Msg.GetExecution().GetMetadata().GetId()
	}
}

func freshSessions(ctx context.Context, s *server, count *atomic.Int64) error {
	for {
		session, execution, err := s.run(ctx, "quick", "")
		if err != nil {
			return err
		}
		stream, cancel := context.WithCancel(ctx)
		frames, err := s.follow(stream, session)
		if err == nil {
			err = until(frames, execution, "turn.completed", nil)
		}
		cancel()
		if err != nil {
			return err
		}
		count.Add(1)
	}
}
