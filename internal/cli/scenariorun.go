package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/agenttest"
)

// testResult is what came of one test.
type testResult struct {
	File       string        `json:"file"`
	Name       string        `json:"name,omitempty"`
	OK         bool          `json:"ok"`
	Turns      int           `json:"turns"`
	DurationMS int64         `json:"durationMs"`
	Updated    int           `json:"updated,omitempty"`  // texts that were rewritten
	Recorded   string        `json:"recorded,omitempty"` // file that was recorded
	Error      string        `json:"error,omitempty"`    // why it could not run to its end
	Failures   []testFailure `json:"failures,omitempty"`

	exit   int // when it is not OK
	events []*eventv1.Event
}

// testFailure is one difference.
type testFailure struct {
	Turn int      `json:"turn"` // from 1
	Say  string   `json:"say"`
	What string   `json:"what"`
	Diff []string `json:"diff"` // - is expected, + came
}

func (r *testResult) note() string {
	switch {
	case r.Updated > 0:
		return fmt.Sprintf("%s updated", count(r.Updated, "text"))
	case r.Recorded != "":
		return "recorded " + r.Recorded
	}
	return ""
}

// lastEvents is how many events of a test that failed are shown.
const lastEvents = 25

// run plays one test. It never fails the others.
func (s *scratch) run(ctx context.Context, f *testFlags, one *scenario, number int) *testResult {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(f.timeout, func() { cancel(fmt.Errorf("the test did not end within %s", f.timeout)) })
	defer late.Stop()
	p := &playing{scratch: s, scenario: one, number: number, result: &testResult{File: one.file, Name: one.test.Name, exit: exitFailed}}
	r := p.result
	err := p.play(ctx)
	if err == nil && f.update {
		err = p.update()
	}
	err = p.endRecording(err)
	if err != nil {
		r.exit = exitOf(err)
		if ctx.Err() != nil {
			r.exit, err = exitFailed, context.Cause(ctx)
		}
		r.Error = told(err)
	}
	r.OK = err == nil && len(r.Failures) == 0
	r.DurationMS = time.Since(began).Milliseconds()
	r.events = r.events[max(0, len(r.events)-lastEvents):]
	return r
}

// told is an error in the words that a command shows.
func told(err error) string {
	var out bytes.Buffer
	(&app{err: &out}).complain(err)
	return string(bytes.TrimPrefix(bytes.TrimSpace(out.Bytes()), []byte("error: ")))
}

// playing is one test on its way.
type playing struct {
	*scratch
	*scenario
	number    int
	result    *testResult
	folder    string // the workspace; "" for none
	session   string
	cursor    string
	rewritten []rewrite
}

// rewrite is an expected text that is to become another one.
type rewrite struct {
	turn int
	agenttest.Difference
}

func (p *playing) play(ctx context.Context) error {
	slug, err := p.apply(ctx)
	if err == nil {
		err = p.workspace()
	}
	if err == nil {
		err = p.beginRecording()
	}
	if err != nil {
		return err
	}
	for i, t := range p.test.Turns {
		outcome, err := p.turn(ctx, slug, t)
		if err != nil {
			return err
		}
		p.result.Turns++
		found, err := t.Expect.Judge(outcome, p.read)
		if err != nil {
			return err
		}
		over := false
		for _, d := range found {
			over = over || d.What == "phase"
			p.result.Failures = append(p.result.Failures, testFailure{i + 1, t.Say, d.What, d.Lines})
			p.rewritten = append(p.rewritten, rewrite{i, d})
		}
		if over || outcome.Phase == "waiting" {
			return nil // what comes later was meant for another end
		}
	}
	return nil
}

// apply declares the agent under a name that no other test uses.
func (p *playing) apply(ctx context.Context) (slug string, err error) {
	slug = fmt.Sprintf("test-%d", p.number+1)
	agent := proto.CloneOf(p.agent)
	agent.Metadata = &resourcev1.Metadata{Slug: slug, Name: p.agent.GetMetadata().GetName(), Labels: p.agent.GetMetadata().GetLabels()}
	_, err = p.agents.Apply(ctx, connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: agent, IdempotencyKey: keyOr("")}))
	return slug, err
}

// turn says something and waits for the turn's end.
func (p *playing) turn(ctx context.Context, slug string, t agenttest.Turn) (agenttest.Outcome, error) {
	attached := &extras{}
	files := &extraFlags{}
	for _, file := range t.Attach {
		files.attach = append(files.attach, p.path(file))
	}
	if err := files.upload(ctx, p.client, "", attached); err != nil {
		return agenttest.Outcome{}, err
	}
	approve := agentexecutionv1.ApprovalMode_deny
	if p.test.Auto {
		approve = agentexecutionv1.ApprovalMode_auto
	}
	var execution string
	if p.session == "" {
		req := &sessionv1.RunAgentRequest{
			Agent: slug, Message: t.Say, Model: p.model, Effort: p.test.Effort, Approve: approve, IdempotencyKey: keyOr(""), Record: p.recording(),
			Attachments: attached.attachments, OutputSchema: t.Schema,
		}
		if p.folder != "" {
			req.Workspace = &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: p.folder}}}
		}
		res, err := p.client.sessions.RunAgent(ctx, connect.NewRequest(req))
		if err != nil {
			return agenttest.Outcome{}, err
		}
		p.session, execution = res.Msg.GetSession().GetMetadata().GetId(), res.Msg.GetExecution().GetMetadata().GetId()
	} else {
		res, err := p.client.sessions.SendMessage(ctx, connect.NewRequest(&sessionv1.SendMessageRequest{
			SessionId: p.session, Message: t.Say, Effort: p.test.Effort, Approve: approve, IdempotencyKey: keyOr(""), Record: p.recording(),
			Attachments: attached.attachments, OutputSchema: t.Schema,
		}))
		if err != nil {
			return agenttest.Outcome{}, err
		}
		execution = res.Msg.GetExecution().GetMetadata().GetId()
	}
	events, err := p.follow(ctx, execution)
	return agenttest.Fold(events), err
}

// follow collects the events of a turn up to its end.
func (p *playing) follow(ctx context.Context, execution string) ([]*eventv1.Event, error) {
	stream, err := p.client.sessions.SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{
		SessionId: p.session, After: p.cursor, Filter: &sessionv1.EventFilter{DurableOnly: true},
	}))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	end := newTracker(watch{session: p.session, execution: execution})
	var mine []*eventv1.Event
	for stream.Receive() {
		e := stream.Msg().GetEvent()
		if e == nil {
			continue
		}
		p.cursor = stream.Msg().GetId()
		p.result.events = append(p.result.events, e)
		if e.GetExecutionId() == execution {
			mine = append(mine, e)
		}
		if end.see(e) != nil {
			return mine, nil
		}
	}
	return mine, errors.Join(stream.Err(), errors.New("the server for the tests broke the connection off"))
}
