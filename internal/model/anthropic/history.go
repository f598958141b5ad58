package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// conversation is a history as the API wants it: user and assistant in turns, each
// turn one message.
type conversation struct {
	files    model.Request // shows what stands beside texts
	messages []sdk.MessageParam
	// openWithoutThought: the calls that the last results are for were not led to by
	// a thought that can go back.
	openWithoutThought bool
}

// history writes a request's items as messages. It changes none of them.
func history(req model.Request) conversation {
	c := conversation{files: req}
	for _, item := range req.History {
		switch m := item.GetItem().(type) {
		case *messagev1.Item_User:
			text, images := req.Show(m.User.GetText(), m.User.GetAttachments())
			c.add(sdk.MessageParamRoleUser, texts(text)...)
			for _, i := range images {
				c.add(sdk.MessageParamRoleUser, sdk.NewImageBlockBase64(i.MediaType, i.Base64()))
			}
			c.openWithoutThought = false
		case *messagev1.Item_Developer:
			c.add(sdk.MessageParamRoleUser, texts(developer(m.Developer.GetText()))...)
			c.openWithoutThought = false
		case *messagev1.Item_ToolResult:
			c.add(sdk.MessageParamRoleUser, c.result(m.ToolResult))
		case *messagev1.Item_Assistant:
			blocks, sealed := answered(m.Assistant)
			c.add(sdk.MessageParamRoleAssistant, blocks...)
			c.openWithoutThought = !sealed
		}
	}
	return c
}

// add puts blocks into the turn of a role: the last one when it has that role. The
// API takes no message without blocks, and a blank answer leaves none.
func (c *conversation) add(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, blocks...)
		return
	}
	c.messages = append(c.messages, sdk.MessageParam{Role: role, Content: blocks})
}

// texts is a text as a block; none for a blank one, which the API refuses.
func texts(s string) []sdk.ContentBlockParamUnion {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []sdk.ContentBlockParamUnion{{OfText: &sdk.TextBlockParam{Text: s}}}
}

// developer marks what Cadre itself says: the API has no role for it that all models
// take, and it is not the user's word.
func developer(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return "<developer>\n" + s + "\n</developer>"
}

// result answers a call. Several of one answer's calls stand in one turn, before
// anything else that it holds. The API takes no image in a result that is an error.
func (c *conversation) result(r *messagev1.ToolResult) sdk.ContentBlockParamUnion {
	p := &sdk.ToolResultBlockParam{ToolUseID: callID(r.GetCallId())}
	files := c.files
	if r.GetIsError() {
		files.Files = nil
	}
	text, images := files.Show(r.GetText(), r.GetAttachments())
	if strings.TrimSpace(text) != "" {
		p.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: text}}}
	}
	for _, i := range images {
		p.Content = append(p.Content, sdk.ToolResultBlockParamContentUnion{OfImage: sdk.NewImageBlockBase64(i.MediaType, i.Base64()).OfImage})
	}
	if r.GetIsError() {
		p.IsError = param.NewOpt(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: p}
}

// answered writes an answer of a model, and tells whether it begins with a thought.
// Thoughts go back only sealed and only to who sealed them. Blocks stand in the
// order in which they came.
func answered(m *messagev1.AssistantMessage) (blocks []sdk.ContentBlockParamUnion, thought bool) {
	for _, part := range m.GetParts() {
		switch p := part.GetPart().(type) {
		case *messagev1.AssistantPart_Reasoning:
			if m.GetProvider() != provider {
				continue
			}
			if b, ok := unseal(p.Reasoning.GetPrivate()); ok {
				thought = thought || len(blocks) == 0
				blocks = append(blocks, b)
			}
		case *messagev1.AssistantPart_Text:
			blocks = append(blocks, texts(p.Text)...)
		case *messagev1.AssistantPart_ToolCall:
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolUse: &sdk.ToolUseBlockParam{
				ID: callID(p.ToolCall.GetId()), Name: p.ToolCall.GetName(), Input: input(p.ToolCall.GetArguments()),
			}})
		}
	}
	if onlyThoughts(blocks) {
		return nil, false // an answer that says nothing cannot go back
	}
	return blocks, thought
}

// onlyThoughts tells whether nothing that the API counts as an answer is there.
func onlyThoughts(blocks []sdk.ContentBlockParamUnion) bool {
	for _, b := range blocks {
		if b.OfText != nil || b.OfToolUse != nil {
			return false
		}
	}
	return true
}

// input gives arguments as the API takes them back: an object. A model may have
// written something else, which then goes back inside of one.
func input(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	switch {
	case strings.TrimSpace(arguments) == "":
		return json.RawMessage("{}")
	case json.Unmarshal([]byte(arguments), &object) == nil && object != nil:
		return json.RawMessage(arguments)
	}
	data, err := json.Marshal(map[string]string{"invalid_arguments": arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

var goodID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// callID is a call's id as the API takes it. Ids of other providers may have other
// letters; such an id always becomes the same other one.
func callID(id string) string {
	if goodID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
