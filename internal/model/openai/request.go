package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
)

// unreasoning are the beginnings of ids whose models do not reason: they refuse to
// be asked for their sealed thoughts.
var unreasoning = []string{"gpt-3.5", "gpt-4", "gpt-5-chat", "chatgpt-"}

// reasons tells whether a model has thoughts to seal. A model that nobody knows has.
func reasons(id string) bool {
	id = strings.TrimPrefix(id, "ft:")
	return !slices.ContainsFunc(unreasoning, func(p string) bool { return strings.HasPrefix(id, p) })
}

// params writes a request.
func params(id string, req model.Request) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model: id,
		Store: param.NewOpt(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input(req)},
	}
	if req.Instructions != "" {
		p.Instructions = param.NewOpt(req.Instructions)
	}
	if reasons(id) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if req.Effort != "" {
		p.Reasoning.Effort = shared.ReasoningEffort(req.Effort)
	}
	if req.MaxOutputTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(req.MaxOutputTokens))
	}
	if len(req.Schema) > 0 {
		p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{
			Name: "answer", Schema: sdk.Object(req.Schema), Strict: param.NewOpt(model.StrictSchema(req.Schema)),
		}
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Parameters: sdk.Object(t.Schema), Strict: param.NewOpt(false),
		}})
	}
	if len(p.Tools) > 0 {
		p.ParallelToolCalls = param.NewOpt(true)
	}
	return p
}

// input writes the history as items.
func input(req model.Request) responses.ResponseInputParam {
	var all responses.ResponseInputParam
	for _, item := range req.History {
		switch m := item.GetItem().(type) {
		case *messagev1.Item_User:
			all = append(all, said(req.Show(m.User.GetText(), m.User.GetAttachments())))
		case *messagev1.Item_Developer:
			all = append(all, responses.ResponseInputItemParamOfMessage(m.Developer.GetText(), responses.EasyInputMessageRoleDeveloper))
		case *messagev1.Item_ToolResult:
			all = append(all, resulted(req.Show(m.ToolResult.GetText(), m.ToolResult.GetAttachments())))
			all[len(all)-1].OfFunctionCallOutput.CallID = param.NewOpt(m.ToolResult.GetCallId())
		case *messagev1.Item_Assistant:
			all = append(all, answered(m.Assistant)...)
		}
	}
	return all
}

// said writes what a user said: a text, or a list where images stand beside it.
func said(text string, images []model.Image) responses.ResponseInputItemUnionParam {
	if len(images) == 0 {
		return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
	}
	var list responses.ResponseInputMessageContentListParam
	if text != "" {
		list = append(list, responses.ResponseInputContentParamOfInputText(text))
	}
	for _, i := range images {
		list = append(list, responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto))
		list[len(list)-1].OfInputImage.ImageURL = param.NewOpt(i.DataURL())
	}
	return responses.ResponseInputItemParamOfMessage(list, responses.EasyInputMessageRoleUser)
}

// resulted writes the result of a call in the same way.
func resulted(text string, images []model.Image) responses.ResponseInputItemUnionParam {
	if len(images) == 0 {
		return responses.ResponseInputItemParamOfFunctionCallOutput(text)
	}
	var list responses.ResponseFunctionCallOutputItemListParam
	if text != "" {
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputText: &responses.ResponseInputTextContentParam{Text: text}})
	}
	for _, i := range images {
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{
			ImageURL: param.NewOpt(i.DataURL()), Detail: responses.ResponseInputImageContentDetailAuto,
		}})
	}
	return responses.ResponseInputItemParamOfFunctionCallOutput(list)
}

// answered writes an answer of a model. Sealed items are this provider's alone, and
// one that nothing follows is left out, since the provider takes it only before
// what it led to.
func answered(m *messagev1.AssistantMessage) responses.ResponseInputParam {
	var all responses.ResponseInputParam
	phase, whole := responses.EasyInputMessagePhase(""), 0
	for _, part := range m.GetParts() {
		switch p := part.GetPart().(type) {
		case *messagev1.AssistantPart_Reasoning:
			if m.GetProvider() != provider || len(p.Reasoning.GetPrivate()) == 0 {
				continue
			}
			private := p.Reasoning.GetPrivate()
			if s := openSeal(private); s.Type == messageType {
				phase = responses.EasyInputMessagePhase(s.Phase)
			} else if s.Type == reasoningType {
				item := param.Override[responses.ResponseReasoningItemParam](json.RawMessage(private))
				all = append(all, responses.ResponseInputItemUnionParam{OfReasoning: &item})
			}
			continue
		case *messagev1.AssistantPart_Text:
			all = append(all, responses.ResponseInputItemParamOfMessage(p.Text, responses.EasyInputMessageRoleAssistant))
			all[len(all)-1].OfMessage.Phase = phase
			phase = ""
		case *messagev1.AssistantPart_ToolCall:
			all = append(all, responses.ResponseInputItemParamOfFunctionCall(p.ToolCall.GetArguments(), p.ToolCall.GetId(), p.ToolCall.GetName()))
		}
		whole = len(all)
	}
	return all[:whole]
}
