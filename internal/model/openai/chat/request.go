package chat

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"

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
		instructions = model.AskForSchema(instructions, req.Schema)
	} else if len(req.Schema) > 0 {
		r.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &schemaBody{Name: "answer", Schema: req.Schema, Strict: model.StrictSchema(req.Schema)}}
	}
	if instructions != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: instructions})
	}
	r.Messages = append(r.Messages, h.messages(req)...)
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{Type: "function", Function: toolBody{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	return r
}

// messages writes the history. An answer that says nothing is left out. A tool's
// message holds no images: those of one answer's calls follow its last result, in a
// message of the user's that says which call each comes from.
func (h host) messages(req model.Request) []message {
	var all []message
	var shown []piece // images of the results since the last other message
	for _, item := range req.History {
		result := item.GetToolResult()
		if result == nil {
			all, shown = h.join(all, message{Role: "user"}, shown), nil
			m, ok := h.message(req, item)
			if ok {
				all = h.join(all, m, nil)
			}
			continue
		}
		id := h.callID(result.GetCallId())
		text, images := req.Show(result.GetText(), result.GetAttachments())
		all = append(all, message{Role: "tool", Content: text, ToolCallID: id})
		for _, i := range images {
			shown = append(shown, piece{Type: "text", Text: fmt.Sprintf("The image %q, from the result of the call %s:", i.Name, id)}, picture(i))
		}
	}
	return h.join(all, message{Role: "user"}, shown)
}

// join adds a message; pieces are its content when it has none. Without either there
// is no message. Where a host wants it, an answer stands before a user behind a tool.
func (h host) join(all []message, m message, pieces []piece) []message {
	if m.Content == nil && len(m.ToolCalls) == 0 {
		if len(pieces) == 0 {
			return all
		}
		m.Content = pieces
	}
	if n := len(all); h.quirks.wantsBridge && m.Role == "user" && n > 0 && all[n-1].Role == "tool" {
		all = append(all, message{Role: "assistant", Content: bridge})
	}
	return append(all, m)
}

// bridge is the answer that stands between a tool and a user.
const bridge = "Understood."

// message writes an item that is no result of a call.
func (h host) message(req model.Request, item *messagev1.Item) (message, bool) {
	switch m := item.GetItem().(type) {
	case *messagev1.Item_User:
		return said(req.Show(m.User.GetText(), m.User.GetAttachments())), true
	case *messagev1.Item_Developer:
		role := h.quirks.developerRole
		if role == "" {
			role = "system"
		}
		return message{Role: role, Content: m.Developer.GetText()}, true
	case *messagev1.Item_Assistant:
		return h.answered(m.Assistant)
	}
	return message{}, false
}

// said writes what a user said: a text, or a list where images stand beside it.
func said(text string, images []model.Image) message {
	if len(images) == 0 {
		return message{Role: "user", Content: text}
	}
	var list []piece
	if text != "" {
		list = append(list, piece{Type: "text", Text: text})
	}
	for _, i := range images {
		list = append(list, picture(i))
	}
	return message{Role: "user", Content: list}
}

func picture(i model.Image) piece {
	return piece{Type: "image_url", ImageURL: &imageURL{URL: i.DataURL()}}
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
		out.Content = text
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
