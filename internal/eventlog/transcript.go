package eventlog

import (
	"context"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// Transcript folds a session's log into messages, in time linear in its length.
func (l *Log) Transcript(ctx context.Context, session string) (*sessionv1.Transcript, error) {
	if _, err := l.source.Session(ctx, session); err != nil {
		return nil, err
	}
	f := NewFolder(session)
	for {
		events, err := l.source.Events(ctx, store.EventQuery{Session: session, After: f.transcript.LastSeq, Limit: pageSize, MaxDepth: -1})
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			f.Add(e)
		}
		if len(events) < pageSize {
			return f.Transcript(), nil
		}
	}
}

// Folder builds a transcript event by event. Not safe for concurrent use.
type Folder struct {
	transcript *sessionv1.Transcript
	turns      map[string]*sessionv1.TranscriptTurn
	tools      map[string]*sessionv1.TranscriptEntry
	open       map[string]*sessionv1.TranscriptEntry // the answer that streams now, by execution
	texts      map[string]string
}

// NewFolder makes an empty one.
func NewFolder(session string) *Folder {
	return &Folder{
		transcript: &sessionv1.Transcript{SessionId: session},
		turns:      map[string]*sessionv1.TranscriptTurn{},
		tools:      map[string]*sessionv1.TranscriptEntry{},
		open:       map[string]*sessionv1.TranscriptEntry{},
		texts:      map[string]string{},
	}
}

// Transcript is what was folded so far.
func (f *Folder) Transcript() *sessionv1.Transcript { return f.transcript }

// Add folds one event in. Events must come in order; late and duplicate ones
// change nothing but the number of the newest event.
func (f *Folder) Add(e *eventv1.Event) {
	f.transcript.LastSeq = e.GetSeq()
	if e.GetAssociation() != eventv1.Association_current {
		return
	}
	switch p := e.GetPayload().(type) {
	case *eventv1.Event_InputQueued:
		f.texts[p.InputQueued.GetInputId()] = p.InputQueued.GetText()
	case *eventv1.Event_TurnQueued:
		t := f.turn(e)
		t.Phase = agentexecutionv1.ExecutionPhase_queued
		f.add(e, &sessionv1.TranscriptEntry{Entry: &sessionv1.TranscriptEntry_User{User: f.texts[p.TurnQueued.GetInputId()]}})
	case *eventv1.Event_TurnStarted:
		t := f.turn(e)
		t.Phase, t.StartedAt = agentexecutionv1.ExecutionPhase_running, e.GetOccurredAt()
	case *eventv1.Event_AgentMessageDelta, *eventv1.Event_AgentMessageCompleted, *eventv1.Event_AgentReasoningDelta,
		*eventv1.Event_AgentModelRequest:
		f.message(e)
	case *eventv1.Event_TurnRecoveryRequested:
		f.turn(e).Phase = agentexecutionv1.ExecutionPhase_running
		f.message(e)
	case *eventv1.Event_TurnReopened:
		t := f.turn(e)
		t.Phase, t.EndedAt, t.Error = agentexecutionv1.ExecutionPhase_queued, nil, nil
	case *eventv1.Event_AgentToolRequested, *eventv1.Event_AgentToolStarted, *eventv1.Event_AgentToolCompleted,
		*eventv1.Event_AgentToolFailed, *eventv1.Event_AgentToolOutcomeUnknown:
		f.tool(e)
	case *eventv1.Event_TurnCompleted, *eventv1.Event_TurnFailed, *eventv1.Event_TurnCancelled, *eventv1.Event_TurnWaiting,
		*eventv1.Event_TurnCancelRequested:
		f.end(e)
	}
}

func (f *Folder) turn(e *eventv1.Event) *sessionv1.TranscriptTurn {
	t := f.turns[e.GetExecutionId()]
	if t == nil {
		t = &sessionv1.TranscriptTurn{ExecutionId: e.GetExecutionId()}
		f.turns[e.GetExecutionId()] = t
		f.transcript.Turns = append(f.transcript.Turns, t)
	}
	return t
}

func (f *Folder) add(e *eventv1.Event, entry *sessionv1.TranscriptEntry) *sessionv1.TranscriptEntry {
	entry.Seq = e.GetSeq()
	t := f.turn(e)
	t.Entries = append(t.Entries, entry)
	return entry
}

// message builds the answer that streams; a recovered attempt asks again, so
// what an unfinished answer said is dropped.
func (f *Folder) message(e *eventv1.Event) {
	x := e.GetExecutionId()
	switch p := e.GetPayload().(type) {
	case *eventv1.Event_AgentReasoningDelta:
		t := f.turn(e)
		if n := len(t.Entries); n > 0 {
			if r, ok := t.Entries[n-1].Entry.(*sessionv1.TranscriptEntry_Reasoning); ok {
				r.Reasoning += p.AgentReasoningDelta.GetText()
				return
			}
		}
		f.add(e, &sessionv1.TranscriptEntry{Entry: &sessionv1.TranscriptEntry_Reasoning{Reasoning: p.AgentReasoningDelta.GetText()}})
	case *eventv1.Event_AgentMessageDelta:
		if f.open[x] == nil {
			f.open[x] = f.add(e, &sessionv1.TranscriptEntry{Entry: &sessionv1.TranscriptEntry_Assistant{}})
		}
		f.open[x].Entry.(*sessionv1.TranscriptEntry_Assistant).Assistant += p.AgentMessageDelta.GetText()
	case *eventv1.Event_AgentMessageCompleted:
		text := p.AgentMessageCompleted.GetText()
		if text != "" && f.open[x] == nil {
			f.open[x] = f.add(e, &sessionv1.TranscriptEntry{Entry: &sessionv1.TranscriptEntry_Assistant{}})
		}
		if f.open[x] != nil {
			f.open[x].Entry.(*sessionv1.TranscriptEntry_Assistant).Assistant = text
		}
		delete(f.open, x)
	default:
		f.dropOpen(x)
	}
}

func (f *Folder) dropOpen(execution string) {
	t := f.turns[execution]
	if t == nil || f.open[execution] == nil {
		return
	}
	kept := t.Entries[:0]
	for _, entry := range t.Entries {
		if entry != f.open[execution] {
			kept = append(kept, entry)
		}
	}
	t.Entries = kept
	delete(f.open, execution)
}

func (f *Folder) tool(e *eventv1.Event) {
	var id string
	set := func(callID, state, result string, ms int64) *sessionv1.TranscriptTool {
		id = e.GetExecutionId() + "/" + callID
		entry := f.tools[id]
		if entry == nil {
			entry = f.add(e, &sessionv1.TranscriptEntry{Entry: &sessionv1.TranscriptEntry_Tool{Tool: &sessionv1.TranscriptTool{CallId: callID}}})
			f.tools[id] = entry
		}
		tool := entry.GetTool()
		tool.State, tool.Result, tool.DurationMs = state, result, ms
		return tool
	}
	switch p := e.GetPayload().(type) {
	case *eventv1.Event_AgentToolRequested:
		t := set(p.AgentToolRequested.GetCallId(), "requested", "", 0)
		t.Name, t.Arguments = p.AgentToolRequested.GetName(), p.AgentToolRequested.GetArguments()
	case *eventv1.Event_AgentToolStarted:
		set(p.AgentToolStarted.GetCallId(), "started", "", 0)
	case *eventv1.Event_AgentToolCompleted:
		t := set(p.AgentToolCompleted.GetCallId(), "completed", p.AgentToolCompleted.GetResult(), p.AgentToolCompleted.GetDurationMs())
		t.ArtifactId = p.AgentToolCompleted.GetArtifactId()
	case *eventv1.Event_AgentToolFailed:
		set(p.AgentToolFailed.GetCallId(), "failed", p.AgentToolFailed.GetResult(), p.AgentToolFailed.GetDurationMs())
	case *eventv1.Event_AgentToolOutcomeUnknown:
		set(p.AgentToolOutcomeUnknown.GetCallId(), "outcome_unknown", p.AgentToolOutcomeUnknown.GetMessage(), 0)
	}
}

func (f *Folder) end(e *eventv1.Event) {
	t := f.turn(e)
	switch p := e.GetPayload().(type) {
	case *eventv1.Event_TurnCompleted:
		t.Phase, t.Usage = agentexecutionv1.ExecutionPhase_completed, p.TurnCompleted.GetUsage()
	case *eventv1.Event_TurnFailed:
		t.Phase, t.Usage, t.Error = agentexecutionv1.ExecutionPhase_failed, p.TurnFailed.GetUsage(), p.TurnFailed.GetError()
	case *eventv1.Event_TurnCancelled:
		t.Phase, t.Usage = agentexecutionv1.ExecutionPhase_cancelled, p.TurnCancelled.GetUsage()
	case *eventv1.Event_TurnWaiting:
		t.Phase = agentexecutionv1.ExecutionPhase_waiting
		return
	case *eventv1.Event_TurnCancelRequested:
		t.Phase = agentexecutionv1.ExecutionPhase_cancelling
		return
	}
	t.EndedAt = e.GetOccurredAt()
}
