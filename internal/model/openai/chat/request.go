package chat

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// request writes a request.
func (h host) request(id string, req model.Request) request {
	r := request{Model: id, Stream: true, ReasoningEffort: req.Effort}
	if !h.quirks.noUsageOption {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if h.quirks.newMaxTokens {
		r.MaxCompletionTokens = req.MaxOutputTokens
	} else {
		r.MaxTokens = req.MaxOutputTokens
	}
	instructions := req.Instructions
	if len(req.Schema) > 0 && h.quirks.jsonObjectOnly {
		r.ResponseFormat = &responseFormat{Type: "json_object"}
		instructions = strings.TrimPrefix(instructions+"\n\n", "\n\n") + "Answer with one JSON object that keeps to this JSON Schema:\n" + string(req.Schema)
	} else if len(req.Schema) > 0 {
		r.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &schemaBody{Name: "answer", Schema: req.Schema, Strict: model.StrictSchema(req.Schema)}}
	}
	if instructions != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: &instructions})
	}
	for _, item := range req.History {
		if m, ok := h.message(item); ok {
			r.Messages = append(r.Messages, m)
		}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{Type: "function", Function: toolBody{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	return r
}

// message writes one item of the history; an answer that says nothing is left out.
func (h host) message(item *messagev1.Item) (message, bool) {
	said := func(role, text string) (message, bool) { return message{Role: role, Content: &text}, true }
	switch m := item.GetItem().(type) {
	case *messagev1.Item_User:
		return said("user", m.User.GetText())
	case *messagev1.Item_Developer:
		if h.quirks.developerRole != "" {
			return said(h.quirks.developerRole, m.Developer.GetText())
		}
		return said("system", m.Developer.GetText())
	case *messagev1.Item_ToolResult:
		out, _ := said("tool", m.ToolResult.GetText())
		out.ToolCallID = h.callID(m.ToolResult.GetCallId())
		return out, true
	case *messagev1.Item_Assistant:
		return h.answered(m.Assistant)
	}
	return message{}, false
}

// answered writes an answer of a model.
func (h host) answered(m *messagev1.AssistantMessage) (message, bool) {
	out := message{Role: "assistant"}
	text := ""
	for _, p := range m.GetParts() {
		text += p.GetText()
		if c := p.GetToolCall(); c != nil {
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID: h.callID(c.GetId()), Type: "function", Function: callBody{Name: c.GetName(), Arguments: c.GetArguments()},
			})
		}
	}
	if text != "" {
		out.Content = &text
	}
	h.echo(m, &out)
	return out, text != "" || len(out.ToolCalls) > 0
}

// seal is what Reasoning.Private holds: which host thought, and what it wants back
// beside the readable thought.
type seal struct {
	Host    string            `json:"host"`
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
}

// echo adds the fields by which the host that made an answer gets its thoughts back.
// A host that wants them as text wants the field beside every call, also when there
// was no thought, or another made it.
func (h host) echo(m *messagev1.AssistantMessage, out *message) {
	thought, mine := "", false
	for _, p := range m.GetParts() {
		r := p.GetReasoning()
		thought += r.GetText()
		var s seal
		if m.GetProvider() != provider || len(r.GetPrivate()) == 0 || json.Unmarshal(r.GetPrivate(), &s) != nil || s.Host != h.name {
			continue
		}
		mine = true
		if h.quirks.echoDetails {
			out.ReasoningDetails = s.Details
		}
	}
	if !mine {
		thought = ""
	}
	if h.quirks.echoThoughts && (mine || len(out.ToolCalls) > 0) {
		out.ReasoningContent = &thought
	}
}

var nineLetters = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// callID writes the id of a call so that the host takes it; the same id is always
// written the same.
func (h host) callID(id string) string {
	if !h.quirks.nineLetterIDs || nineLetters.MatchString(id) {
		return id
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:9]
}
