package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// The request as the API documents it, as far as this provider uses it.
type (
	cacheMark struct {
		Type string `json:"type"`
	}
	wireText struct {
		Type string     `json:"type"`
		Text string     `json:"text"`
		Mark *cacheMark `json:"cache_control"`
	}
	wireTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
		Mark        *cacheMark      `json:"cache_control"`
	}
	wireMessage struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	wireThinking struct {
		Type    string `json:"type"`
		Display string `json:"display"`
		Budget  int    `json:"budget_tokens"`
	}
	wireOutput struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	}
	wireRequest struct {
		Model     string        `json:"model"`
		MaxTokens int           `json:"max_tokens"`
		Stream    bool          `json:"stream"`
		System    []wireText    `json:"system"`
		Messages  []wireMessage `json:"messages"`
		Tools     []wireTool    `json:"tools"`
		Thinking  *wireThinking `json:"thinking"`
		Output    *wireOutput   `json:"output_config"`
	}
	wireResult struct {
		Type    string            `json:"type"`
		ID      string            `json:"tool_use_id"`
		Content []json.RawMessage `json:"content"`
		IsError bool              `json:"is_error"`
		Mark    *cacheMark        `json:"cache_control"`
	}
	wireImage struct {
		Type   string `json:"type"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
		} `json:"source"`
		Mark *cacheMark `json:"cache_control"`
	}
	wireUse struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	wireThought struct {
		Type      string  `json:"type"`
		Thinking  *string `json:"thinking"`
		Signature string  `json:"signature"`
		Data      string  `json:"data"`
	}
)

// held are the keywords that the API takes in the schema of an answer.
var held = []string{
	"$ref", "$defs", "type", "anyOf", "allOf", "description", "title", "enum", "const", "properties", "additionalProperties", "required", "items", "minItems", "format", "pattern",
}

// read judges a request.
func read(r *http.Request, body []byte) (modeltest.Question, error) {
	q := modeltest.Question{Silent: []string{"RequestID", "Strict"}}
	if r.Method != http.MethodPost || r.URL.String() != "/v1/messages" {
		return q, fmt.Errorf("it goes to %s %s", r.Method, r.URL)
	}
	if err := modeltest.Headers(r, map[string]string{"X-Api-Key": modeltest.Key, "Anthropic-Version": "2023-06-01"}); err != nil {
		return q, err
	}
	var w wireRequest
	if err := modeltest.Strict(body, &w); err != nil {
		return q, err
	}
	if !w.Stream || w.MaxTokens < 1 {
		return q, fmt.Errorf("stream is %v and max_tokens %d", w.Stream, w.MaxTokens)
	}
	q.Model, q.MaxOutputTokens = w.Model, w.MaxTokens
	if len(w.System) > 0 {
		q.Instructions = w.System[0].Text
	}
	for _, t := range w.Tools {
		q.Tools = append(q.Tools, model.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	if err := w.options(&q); err != nil {
		return q, err
	}
	h := reader{}
	for i, m := range w.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return q, fmt.Errorf("message %d is of the role %q, want %q", i, m.Role, want)
		}
		if err := h.message(m); err != nil {
			return q, fmt.Errorf("message %d: %w", i, err)
		}
	}
	q.History = h.items
	return q, w.marks(string(body))
}

// options reads how the model shall think and answer.
func (w wireRequest) options(q *modeltest.Question) error {
	if o := w.Output; o != nil {
		q.Effort = o.Effort
		if o.Format != nil {
			if o.Format.Type != "json_schema" {
				return fmt.Errorf("the format is %q", o.Format.Type)
			}
			q.Schema = o.Format.Schema
			if err := modeltest.Keywords(q.Schema, held, true); err != nil {
				return err
			}
		}
	}
	if t := w.Thinking; t != nil && t.Type == "enabled" && (t.Budget < 1024 || t.Budget >= w.MaxTokens) {
		return fmt.Errorf("the budget is %d of %d", t.Budget, w.MaxTokens)
	}
	if q.Effort != "" && (w.Thinking == nil || w.Thinking.Type != "adaptive" || w.Thinking.Display != "summarized") {
		return fmt.Errorf("with the effort %s the thinking is %+v", q.Effort, w.Thinking)
	}
	return nil
}

// marks wants at most four, and one behind each end that is stable.
func (w wireRequest) marks(body string) error {
	if n := strings.Count(body, `"cache_control"`); n > 4 {
		return fmt.Errorf("there are %d cache marks", n)
	}
	if n := len(w.System); n > 0 && w.System[n-1].Mark == nil {
		return fmt.Errorf("the instructions have no cache mark")
	}
	last := w.Messages[(len(w.Messages)-1)/2*2].Content // the user's
	if !strings.Contains(string(last[len(last)-1]), `"cache_control":{"type":"ephemeral"}`) {
		return fmt.Errorf("the last block has no cache mark: %s", last[len(last)-1])
	}
	return nil
}

// reader turns messages into items.
type reader struct {
	items  []*messagev1.Item
	spoken bool // the user turn has text, after which no result may come
}

func (h *reader) message(m wireMessage) error {
	if len(m.Content) == 0 {
		return fmt.Errorf("it has no blocks")
	}
	h.spoken = false
	a := &messagev1.AssistantMessage{}
	for _, raw := range m.Content {
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return err
		}
		var err error
		if m.Role == "user" {
			err = h.user(head.Type, raw)
		} else {
			err = assistant(a, head.Type, raw)
		}
		if err != nil {
			return err
		}
	}
	if m.Role == "user" {
		return nil
	}
	if n := len(a.Parts); a.Parts[n-1].GetReasoning() != nil {
		return fmt.Errorf("the answer ends with a thought")
	}
	h.items = append(h.items, &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: a}})
	return nil
}

func (h *reader) user(kind string, raw []byte) error {
	switch kind {
	case "text":
		var b wireText
		if err := modeltest.Strict(raw, &b); err != nil {
			return err
		}
		if strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("a text is blank")
		}
		h.spoken = true
		h.items = append(h.items, said(b.Text))
		return nil
	case "tool_result":
		var b wireResult
		if err := modeltest.Strict(raw, &b); err != nil {
			return err
		}
		if h.spoken {
			return fmt.Errorf("the result of %s stands behind text", b.ID)
		}
		r := &messagev1.ToolResult{CallId: b.ID, IsError: b.IsError}
		h.items = append(h.items, &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: r}})
		return b.content(r)
	case "image":
		image, err := shown(raw)
		if err != nil {
			return err
		}
		if !h.spoken {
			h.items = append(h.items, said(""))
		}
		h.spoken = true
		u := h.items[len(h.items)-1].GetUser()
		if u == nil {
			return fmt.Errorf("the image stands beside %v", h.items[len(h.items)-1])
		}
		u.Attachments = append(u.Attachments, image)
		return nil
	}
	return fmt.Errorf("a user has no block %q", kind)
}

// content reads what a result holds: a text, and images behind it.
func (b wireResult) content(r *messagev1.ToolResult) error {
	for i, raw := range b.Content {
		var text wireText
		if modeltest.Strict(raw, &text) == nil && text.Type == "text" && i == 0 && text.Mark == nil {
			r.Text = text.Text
			continue
		}
		image, err := shown(raw)
		if err != nil || b.IsError {
			return fmt.Errorf("block %d of a result is %s: %w", i, raw, err)
		}
		r.Attachments = append(r.Attachments, image)
	}
	return nil
}

func shown(raw []byte) (*messagev1.Attachment, error) {
	var b wireImage
	if err := modeltest.Strict(raw, &b); err != nil {
		return nil, err
	}
	if b.Type != "image" || b.Source.Type != "base64" {
		return nil, fmt.Errorf("the image is %s", raw)
	}
	return modeltest.Shown(b.Source.MediaType, b.Source.Data)
}

// said tells the user's words from Cadre's.
func said(text string) *messagev1.Item {
	if inner, ok := strings.CutPrefix(text, "<developer>\n"); ok {
		return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: strings.TrimSuffix(inner, "\n</developer>")}}}
	}
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}
}

func assistant(a *messagev1.AssistantMessage, kind string, raw []byte) error {
	part := &messagev1.AssistantPart{}
	switch kind {
	case "text":
		var b wireText
		if err := modeltest.Strict(raw, &b); err != nil {
			return err
		}
		part.Part = &messagev1.AssistantPart_Text{Text: b.Text}
	case "tool_use":
		var b wireUse
		if err := modeltest.Strict(raw, &b); err != nil {
			return err
		}
		part.Part = &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: b.ID, Name: b.Name, Arguments: string(b.Input)}}
	case "thinking", "redacted_thinking":
		var b wireThought
		if err := modeltest.Strict(raw, &b); err != nil {
			return err
		}
		if kind == "thinking" && (b.Thinking == nil || b.Signature == "" || b.Data != "") || kind == "redacted_thinking" && (b.Thinking != nil || b.Data == "") {
			return fmt.Errorf("the thought is not whole: %s", raw)
		}
		part.Part = &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: raw}}
	default:
		return fmt.Errorf("an assistant has no block %q", kind)
	}
	a.Parts = append(a.Parts, part)
	return nil
}
