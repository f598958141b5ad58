package openai

import (
	"context"
	"fmt"
	"iter"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
)

// asker asks one model.
type asker struct {
	id, key string
	service responses.ResponseService
}

func newModel(id, key string, options []option.RequestOption) asker {
	return asker{id: id, key: key, service: responses.NewResponseService(options...)}
}

// Ask sends a request and reads its stream.
func (a asker) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(model.Hiding(ctx, a.key), func(ctx context.Context, give func(model.Part) bool) error {
		ctx, cancel := context.WithCancel(model.OnSent(ctx, req.Sent))
		defer cancel()
		var options []option.RequestOption
		if req.RequestID != "" {
			options = append(options, option.WithHeader("X-Client-Request-Id", req.RequestID))
		}
		r := &reader{give: give, open: map[int64]bool{}, ready: map[int64]*model.Part{}}
		err := sdk.Read(cancel, a.service.NewStreaming(ctx, params(a.id, req), options...), r.event)
		if err == nil && r.done != nil {
			give(model.Part{Done: r.done})
		}
		return err
	})
}

// reader turns the events of one response into parts. Items may be built up at the
// same time; their parts leave in the order of the items.
type reader struct {
	give  func(model.Part) bool
	open  map[int64]bool        // items that were begun and are not finished
	ready map[int64]*model.Part // finished items whose turn has not come; nil for one without a part
	next  int64                 // the item whose turn it is
	calls int
	spoke map[[2]int64]bool // texts of which a piece came
	done  *model.Done
}

// event reads one event. Types that nobody knows are passed over.
func (r *reader) event(e responses.ResponseStreamEventUnion) (sdk.Progress, error) {
	if r.done != nil {
		return sdk.Ended, r.behind(e.Type)
	}
	switch e.Type {
	case "response.output_item.added":
		r.open[e.OutputIndex] = true
		if e.Item.Type == messageType {
			r.private(e.Item)
		}
	case "response.output_text.delta":
		r.text(e, e.Delta)
	case "response.output_text.done":
		if !r.spoke[[2]int64{e.OutputIndex, e.ContentIndex}] {
			r.text(e, e.Text) // whole, without pieces before it
		}
	case "response.refusal.done":
		return sdk.Going, &model.Error{Category: model.Refused, Code: "refusal", Message: model.Bounded(e.Refusal)}
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			r.thought("\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.thought(e.Delta)
	case "response.output_item.done":
		r.item(e)
	case "response.completed", "response.incomplete", "response.failed":
		return sdk.Ended, r.end(e.Response)
	case "error":
		return sdk.Going, model.FromEvent([]byte(e.RawJSON()))
	}
	return sdk.Going, nil
}

func (r *reader) text(e responses.ResponseStreamEventUnion, text string) {
	if text == "" {
		return
	}
	if r.spoke == nil {
		r.spoke = map[[2]int64]bool{}
	}
	r.spoke[[2]int64{e.OutputIndex, e.ContentIndex}] = true
	r.give(model.Part{Text: text})
}

func (r *reader) thought(text string) {
	if text != "" {
		r.give(model.Part{Reasoning: &messagev1.Reasoning{Text: text}})
	}
}

func (r *reader) private(item responses.ResponseOutputItemUnion) {
	if data := sealed(item); data != nil {
		r.give(model.Part{Reasoning: &messagev1.Reasoning{Private: data}})
	}
}

// item takes a finished item and gives the parts whose turn it is.
func (r *reader) item(e responses.ResponseStreamEventUnion) {
	delete(r.open, e.OutputIndex)
	var part *model.Part
	switch item := e.Item; item.Type {
	case reasoningType:
		if data := sealed(item); data != nil {
			part = &model.Part{Reasoning: &messagev1.Reasoning{Private: data}}
		}
	case "function_call":
		if item.Status == "incomplete" {
			break // the answer was cut in its middle
		}
		call := &messagev1.ToolCall{Id: item.CallID, Name: item.Name, Arguments: item.Arguments.OfString}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		part = &model.Part{ToolCall: call}
		r.calls++
	}
	r.ready[e.OutputIndex] = part
	for {
		part, ok := r.ready[r.next]
		if !ok {
			return
		}
		delete(r.ready, r.next)
		r.next++
		if part != nil {
			r.give(*part)
		}
	}
}

// end reads the terminal event.
func (r *reader) end(res responses.Response) error {
	switch {
	case res.Status == "failed":
		if res.JSON.Error.Valid() {
			return model.FromEvent([]byte(res.Error.RawJSON()))
		}
		return &model.Error{Category: model.BadRequest, Code: "failed", Message: "the response failed and says not why"}
	case res.Status == "incomplete" && res.IncompleteDetails.Reason == "content_filter":
		return &model.Error{Category: model.Refused, Code: "content_filter", Message: "the provider's filter ended the answer", Usage: usage(res)}
	case res.Status != "incomplete" && (len(r.open) > 0 || len(r.ready) > 0):
		return &model.Error{Category: model.Malformed, Message: fmt.Sprintf("the response ended with %d items unfinished", len(r.open)+len(r.ready))}
	}
	r.done = &model.Done{ResponseID: res.ID, FinishReason: r.finish(res), Usage: usage(res)}
	return nil
}

// finish is why the answer ended; what is not known passes through.
func (r *reader) finish(res responses.Response) string {
	switch reason := res.IncompleteDetails.Reason; {
	case res.Status == "incomplete" && reason == "max_output_tokens":
		return "length"
	case res.Status == "incomplete" && reason != "":
		return reason
	case res.Status != "completed":
		return string(res.Status)
	case r.calls > 0:
		return "tool_calls"
	}
	return "stop"
}

// behind judges what comes after the terminal event: a second one says nothing new,
// but content would have belonged to the answer.
func (r *reader) behind(kind string) error {
	switch kind {
	case "response.output_item.added", "response.output_item.done", "response.output_text.delta",
		"response.function_call_arguments.delta", "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return &model.Error{Category: model.Malformed, Message: "content after the end of the answer: " + kind}
	}
	return nil
}

// usage is what the response says of its tokens, nil when it says nothing.
func usage(res responses.Response) *messagev1.Usage {
	if !res.JSON.Usage.Valid() {
		return nil
	}
	u := res.Usage
	return &messagev1.Usage{
		InputTokens: u.InputTokens, CachedInputTokens: u.InputTokensDetails.CachedTokens,
		OutputTokens: u.OutputTokens, ReasoningTokens: u.OutputTokensDetails.ReasoningTokens,
	}
}
