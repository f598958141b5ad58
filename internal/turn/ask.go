package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// ask makes one model request: admission, then the durable checkpoint, then the
// request's bytes; at the end the answer and its usage in one transaction, which
// settles the gate for the next request. A history that the provider refuses as too
// long is made shorter, once before an answer comes.
func (t *turn) ask(ctx context.Context) (step, error) {
	number, over, err := t.begin(ctx, t.history, "")
	if err != nil {
		return nil, err
	}
	t.prefetch(ctx)
	answer, err := t.stream(ctx, number)
	if over(err); err != nil {
		return t.overflowed(ctx, t.unanswered(ctx, number, err))
	}
	done, err := t.responded(answer.done.ResponseID)
	if err != nil {
		return nil, err
	}
	// A whole answer is kept, also when the turn was told to end while it came.
	if err := t.respond(context.WithoutCancel(ctx), number, answer); err != nil {
		return nil, err
	}
	done()
	return t.decide, nil
}

// begin lets one more request go that sends a history: when it has returned, the request is
// admitted, is the provider's next and is durable. over must be called with the request's error
// as soon as it is over.
func (t *turn) begin(ctx context.Context, history []*messagev1.Item, purpose string) (number int32, over func(error), err error) {
	if err := t.gate.Before(ctx); err != nil {
		return 0, nil, err
	}
	leave, err := t.fx.Enter(ctx, t.claim.Policy.GetModel(), t.claim.Org)
	if err != nil {
		return 0, nil, err
	}
	t.calls++
	number = t.calls
	if err := t.dispatch(ctx, t.checkpoint(number, history, purpose)); err != nil {
		leave(0)
		return 0, nil, err
	}
	return number, func(err error) { leave(askedToWait(err)) }, nil
}

// responded reports a whole answer to the gate; done tells it that the answer is settled.
func (t *turn) responded(id string) (done func(), err error) {
	signal := &Signal{Source: "model", Type: "response_done", Response: &Response{ID: id}}
	if _, err := t.gate.Responded(signal); err != nil {
		return nil, err
	}
	return func() { t.gate.Settle(signal) }, nil
}

// askedToWait is how long a provider that limits requests asks to wait.
func askedToWait(err error) time.Duration {
	var e *model.Error
	if errors.As(err, &e) && (e.Category == model.RateLimited || e.Category == model.Overloaded) {
		return e.RetryAfter
	}
	return 0
}

// unanswered books a request without a whole answer at what its provider told that it used,
// and one that was turned down before any text at nothing: what was held for it is needed
// only where the answer may be lost.
func (t *turn) unanswered(ctx context.Context, number int32, err error) error {
	used := &messagev1.Usage{}
	var refused *model.Error
	switch {
	case errors.As(err, &refused) && refused.Usage != nil:
		used = refused.Usage
		t.fx.Cost(t.claim.Policy.GetModel(), used)
	case !t.unused(ctx, err):
		return err
	}
	booked := t.fx.Ledger().Respond(context.WithoutCancel(ctx), t.claim.Fence, store.Response{Number: number, Usage: used, Now: t.fx.Now()})
	if booked != nil {
		return booked
	}
	return err
}

// unused tells whether a request that ended in an error cost nothing for sure: it was
// turned down before any text, or never left.
func (t *turn) unused(ctx context.Context, err error) bool {
	if t.spoke || ctx.Err() != nil || errors.Is(err, store.ErrFenced) {
		return false
	}
	if !t.sent.Load() {
		return true
	}
	var refused *model.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Category {
	case model.Network, model.Malformed, model.Timeout, model.ServerError:
		return false // it may have worked on the answer
	}
	return true
}

// checkpoint is what makes a request durable before its bytes leave.
func (t *turn) checkpoint(number int32, history []*messagev1.Item, purpose string) store.Dispatch {
	p := t.claim.Policy
	return store.Dispatch{
		Number: number, Model: p.GetModel(), Hold: t.hold(history), Member: p.GetMember(), Limits: t.bounds(), Now: t.fx.Now(),
		Events: []*eventv1.Event{t.event(&eventv1.AgentModelRequest{
			Call: number, Model: p.GetModel(), Provider: p.GetProvider(), Purpose: purpose,
		})},
	}
}

// toolOverhead is what a provider's form adds to each tool, in tokens at most.
const toolOverhead = 100

// defaultOutputHold is the output that a request is held for when nothing bounds it.
const defaultOutputHold = 16384

// overhead are the bytes that go with each request beside the history.
func (t *turn) overhead() int {
	n := len(t.claim.Policy.GetInstructions()) + len(t.claim.Policy.GetOutputSchema())
	for _, spec := range t.offered() {
		n += len(spec.Name) + len(spec.Description) + len(spec.Schema) + toolOverhead
	}
	return n
}

// hold is an upper bound of what a request can cost: a token has at least one
// byte, and the answer at most its limit.
func (t *turn) hold(history []*messagev1.Item) *messagev1.Usage {
	n := t.overhead()
	for _, item := range history {
		n += itemBytes(item)
	}
	out := int64(t.claim.Policy.GetLimits().GetMaxOutputTokens())
	if out == 0 {
		out = defaultOutputHold
	}
	u := &messagev1.Usage{InputTokens: int64(n), OutputTokens: out, Estimated: true}
	t.fx.Cost(t.claim.Policy.GetModel(), u)
	return u
}

func itemBytes(item *messagev1.Item) int {
	n := len(item.GetUser().GetText()) + len(item.GetDeveloper().GetText()) + len(item.GetToolResult().GetText())
	for _, a := range slices.Concat(item.GetUser().GetAttachments(), item.GetToolResult().GetAttachments()) {
		n += attachmentTokens(a)
	}
	for _, part := range item.GetAssistant().GetParts() {
		n += len(part.GetText()) + len(part.GetReasoning().GetText()) + len(part.GetReasoning().GetPrivate()) + len(part.GetToolCall().GetArguments())
	}
	return n
}

// answer is one whole response.
type answer struct {
	item   *messagev1.Item
	text   string
	done   *model.Done
	deltas *deltas
}

// longestAnswer is more than any model answers at once: what goes on for ever fills the
// disk.
const longestAnswer = 16 << 20

func partBytes(p model.Part) int {
	return len(p.Text) + len(p.Reasoning.GetText()) + len(p.Reasoning.GetPrivate()) + len(p.ToolCall.GetArguments())
}

// stream reads one answer, showing and storing its text on the way.
func (t *turn) stream(ctx context.Context, number int32) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &answer{item: &messagev1.Item{}, deltas: t.newDeltas(ctx, number, cancel)}
	defer a.deltas.stop()
	parts := newParts(t.claim.Policy.GetProvider(), t.takenIDs(), number)
	req, err := t.request(ctx, number)
	if err != nil {
		return nil, err
	}
	done, err := t.listen(ctx, cancel, req, func(part model.Part) {
		a.deltas.add(part)
		parts.add(part)
	})
	if err != nil {
		return nil, t.broken(ctx, a, err)
	}
	a.done = done
	a.item = parts.item(a.done)
	a.text = parts.text.String()
	return a, nil
}

// listen sends a request and hands the parts of its answer over as they come. An answer
// that is silent for too long, has no end or goes on behind it is an error.
func (t *turn) listen(ctx context.Context, cancel context.CancelCauseFunc, req model.Request, take func(model.Part)) (done *model.Done, err error) {
	idle := time.AfterFunc(t.opt.ContentIdle, func() { cancel(model.Silent("content", t.opt.ContentIdle)) })
	defer idle.Stop()
	t.spoke = false
	t.sent.Store(false)
	size := 0
	for part, err := range t.model.Ask(model.WithIdle(ctx, t.opt.StreamIdle), req) {
		idle.Reset(t.opt.ContentIdle)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		if done != nil {
			return nil, &model.Error{Category: model.Malformed, Message: "content after the end of the answer"}
		}
		if size += partBytes(part); size > longestAnswer {
			return nil, &failure.Endless{Err: &model.Error{Category: model.Malformed, Message: fmt.Sprintf("the answer is longer than %d bytes", longestAnswer)}}
		}
		t.spoke = t.spoke || part.Text != "" || part.Reasoning != nil || part.ToolCall != nil
		take(part)
		done = part.Done
	}
	if done == nil {
		return nil, &model.Error{Category: model.Malformed, Message: "the stream ended without a terminal event"}
	}
	return done, nil
}

// broken makes durable what was shown of an answer that ended in an error.
func (t *turn) broken(ctx context.Context, a *answer, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if rest := a.deltas.take(); len(rest) > 0 {
		if aerr := t.fx.Ledger().Append(context.WithoutCancel(ctx), t.claim.Fence, rest); aerr != nil {
			return aerr
		}
	}
	return err
}

func (t *turn) request(ctx context.Context, number int32) (model.Request, error) {
	p := t.claim.Policy
	if err := t.show(ctx); err != nil {
		return model.Request{}, err
	}
	return model.Request{
		Instructions: p.GetInstructions(), History: t.shown.history, Files: t.shown.files, Tools: t.offered(), Effort: p.GetEffort(),
		MaxOutputTokens: int(p.GetLimits().GetMaxOutputTokens()), Schema: []byte(p.GetOutputSchema()),
		RequestID: fmt.Sprintf("%s/%d", t.claim.Execution, number),
		Sent:      func() { t.sent.Store(true) },
	}, nil
}

// respond makes the answer durable: the rest of its text, the whole message,
// the calls it asks for, its usage.
func (t *turn) respond(ctx context.Context, number int32, a *answer) error {
	usage := t.used(a.done.Usage, t.history, a.text)
	if t.isEmptyContinuation(a) {
		return t.discard(ctx, number, a, usage)
	}
	events := a.deltas.take()
	events = append(events, t.event(&eventv1.AgentMessageCompleted{
		Call: number, Text: a.text, FinishReason: a.done.FinishReason,
	}))
	var pending []store.PendingTool
	for _, part := range a.item.GetAssistant().GetParts() {
		if call := part.GetToolCall(); call != nil {
			pending = append(pending, store.PendingTool{Call: call})
			events = append(events, t.event(&eventv1.AgentToolRequested{
				CallId: call.GetId(), Name: call.GetName(), Arguments: call.GetArguments(), Call: number,
			}))
		}
	}
	events = append(events, t.usageEvent(number, usage, a.done.ResponseID))
	err := t.fx.Ledger().Respond(ctx, t.claim.Fence, store.Response{Number: number, Item: a.item, Usage: usage, Events: events, Now: t.fx.Now()})
	if err != nil {
		return err
	}
	t.history = append(t.history, a.item)
	t.claim.Shown.Tokens, t.claim.Shown.Counted = usage.GetInputTokens()+usage.GetOutputTokens(), len(t.history)
	t.pending, t.open = pending, nil
	t.claim.Recoveries = store.Recoveries{} // the ledger forgot them with this answer
	return nil
}

// used is what an answer used, with its cost: what the provider told, else an estimate.
func (t *turn) used(told *messagev1.Usage, history []*messagev1.Item, text string) *messagev1.Usage {
	if told == nil {
		told = &messagev1.Usage{InputTokens: t.hold(history).GetInputTokens() / 4, OutputTokens: int64(len(text)/4) + 1, Estimated: true}
	}
	t.fx.Cost(t.claim.Policy.GetModel(), told)
	return told
}

// takenIDs are the call ids that the session has already, since providers may
// repeat theirs and ours never do.
func (t *turn) takenIDs() map[string]bool {
	taken := map[string]bool{}
	for _, id := range t.claim.Shown.Taken {
		taken[id] = true
	}
	for _, item := range t.history {
		for _, part := range item.GetAssistant().GetParts() {
			if call := part.GetToolCall(); call != nil {
				taken[call.GetId()] = true
			}
		}
	}
	return taken
}

// parts collects an answer in the order in which it came, joining pieces of text.
type parts struct {
	provider string
	taken    map[string]bool
	number   int32
	all      []*messagev1.AssistantPart
	text     strings.Builder
	piece    strings.Builder
}

func newParts(provider string, taken map[string]bool, number int32) *parts {
	return &parts{provider: provider, taken: taken, number: number}
}

func (p *parts) add(part model.Part) {
	switch {
	case part.Text != "":
		p.text.WriteString(part.Text)
		p.piece.WriteString(part.Text)
	case part.Reasoning != nil:
		p.flush()
		p.reasoning(part.Reasoning)
	case part.ToolCall != nil:
		p.flush()
		call := &messagev1.ToolCall{Id: p.unique(part.ToolCall.GetId(), len(p.all)), Name: part.ToolCall.GetName(), Arguments: part.ToolCall.GetArguments()}
		p.all = append(p.all, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: call}})
	}
}

func (p *parts) reasoning(r *messagev1.Reasoning) {
	if n := len(p.all); n > 0 && len(r.GetPrivate()) == 0 {
		if last := p.all[n-1].GetReasoning(); last != nil && len(last.GetPrivate()) == 0 {
			last.Text += r.GetText()
			return
		}
	}
	p.all = append(p.all, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{
		Reasoning: &messagev1.Reasoning{Text: r.GetText(), Private: r.GetPrivate()},
	}})
}

func (p *parts) unique(id string, n int) string {
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", p.number, n)
	}
	if p.taken[id] {
		id = fmt.Sprintf("%s_%d_%d", id, p.number, n)
	}
	p.taken[id] = true
	return id
}

func (p *parts) flush() {
	if p.piece.Len() > 0 {
		p.all = append(p.all, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: p.piece.String()}})
		p.piece.Reset()
	}
}

func (p *parts) item(done *model.Done) *messagev1.Item {
	p.flush()
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{
		Parts: p.all, Provider: p.provider, ResponseId: done.ResponseID, FinishReason: done.FinishReason,
	}}}
}
