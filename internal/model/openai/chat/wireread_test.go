package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// wireRequest is a request of Chat Completions, as far as we use it.
type wireRequest struct {
	Model               string        `json:"model"`
	Messages            []wireMessage `json:"messages"`
	Stream              bool          `json:"stream"`
	StreamOptions       *wireOptions  `json:"stream_options"`
	MaxTokens           int           `json:"max_tokens"`
	MaxCompletionTokens int           `json:"max_completion_tokens"`
	ReasoningEffort     string        `json:"reasoning_effort"`
	Tools               []wireTool    `json:"tools"`
	ResponseFormat      *wireFormat   `json:"response_format"`
}

type wireOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type wireFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict"`
	} `json:"json_schema"`
}

type wireMessage struct {
	Role             string            `json:"role"`
	Content          *wireContent      `json:"content"`
	ToolCallID       string            `json:"tool_call_id"`
	ToolCalls        []wireCall        `json:"tool_calls"`
	ReasoningContent *string           `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
}

// wireContent is a text, or a list of pieces.
type wireContent struct {
	text   string
	pieces []wirePiece
}

type wirePiece struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (c *wireContent) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, &c.text)
	}
	if err := modeltest.Strict(data, &c.pieces); err != nil {
		return err
	}
	for _, p := range c.pieces {
		if (p.Type != "text" || p.Text == "" || p.ImageURL != nil) && (p.Type != "image_url" || p.Text != "" || p.ImageURL == nil) {
			return fmt.Errorf("the piece %+v is not well formed", p)
		}
	}
	return nil
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// read judges a request.
func (d dialect) read(r *http.Request, body []byte) (modeltest.Question, error) {
	var q wireRequest
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || r.URL.RawQuery != "" {
		return modeltest.Question{}, fmt.Errorf("the request is %s %s", r.Method, r.URL)
	}
	want := map[string]string{}
	if d.keyVariable != "" {
		want["Authorization"] = "Bearer " + modeltest.Key
	}
	if d.requestID {
		want["X-Client-Request-Id"] = "*"
	}
	err := modeltest.Headers(r, want)
	if err == nil {
		err = modeltest.Strict(body, &q)
	}
	switch {
	case err != nil:
	case !q.Stream || (q.StreamOptions != nil) != d.usageOption || d.usageOption && !q.StreamOptions.IncludeUsage:
		err = fmt.Errorf("stream is %v and its options are %v", q.Stream, q.StreamOptions)
	case q.MaxTokens > 0 && d.maxField != "max_tokens" || q.MaxCompletionTokens > 0 && d.maxField != "max_completion_tokens":
		err = fmt.Errorf("the limit stands not in %s", d.maxField)
	}
	if err != nil {
		return modeltest.Question{}, err
	}
	out := modeltest.Question{
		Model: q.Model, MaxOutputTokens: q.MaxTokens + q.MaxCompletionTokens, Effort: q.ReasoningEffort,
		RequestID: r.Header.Get("X-Client-Request-Id"), Silent: []string{"IsError"},
	}
	if !d.requestID {
		out.Silent = append(out.Silent, "RequestID")
	}
	if d.jsonObject {
		out.Silent = append(out.Silent, "Strict")
	}
	if d.back == "" {
		out.Silent = append(out.Silent, "Reasoning")
	}
	for _, t := range q.Tools {
		if t.Type != "function" || len(t.Function.Parameters) == 0 {
			return out, fmt.Errorf("the tool is %+v", t)
		}
		out.Tools = append(out.Tools, model.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return out, d.messages(q, &out)
}

// messages reads the conversation; the first message holds the instructions.
func (d dialect) messages(q wireRequest, out *modeltest.Question) error {
	if len(q.Messages) == 0 || q.Messages[0].Role != "system" || q.Messages[0].Content == nil || q.Messages[0].Content.pieces != nil {
		return errors.New("the first message is not the system's")
	}
	out.Instructions = q.Messages[0].Content.text
	if err := d.format(q.ResponseFormat, out); err != nil {
		return err
	}
	before := ""
	for i, m := range q.Messages[1:] {
		switch {
		case d.bridge && before == "tool" && m.Role == "user":
			return fmt.Errorf("message %d is a user's, behind a tool's", i+1)
		case d.bridge && before == "tool" && m.Role == "assistant" && m.Content != nil && m.Content.text == "Understood.":
			before = "bridge"
			continue
		case (before == "tool" || before == "bridge") && m.Role == "user" && m.Content != nil && d.resulted(*m.Content, out.History):
			before = m.Role
			continue
		}
		before = m.Role
		item, err := d.message(m)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		out.History = append(out.History, item)
	}
	return nil
}

var fromCall = regexp.MustCompile(`^The image ".*", from the result of the call (\S+):$`)

// resulted puts images beside the results that they come from; false when the content
// holds something else.
func (d dialect) resulted(c wireContent, history []*messagev1.Item) bool {
	for len(c.pieces) > 1 {
		which := fromCall.FindStringSubmatch(c.pieces[0].Text)
		if which == nil || c.pieces[1].ImageURL == nil {
			return false
		}
		id, err := d.original(which[1])
		image, wrong := modeltest.ShownURL(c.pieces[1].ImageURL.URL)
		at := slices.IndexFunc(history, func(i *messagev1.Item) bool { return i.GetToolResult().GetCallId() == id })
		if err != nil || wrong != nil || at < 0 {
			return false
		}
		r := history[at].GetToolResult()
		r.Attachments = append(r.Attachments, image)
		c.pieces = c.pieces[2:]
	}
	return c.text == "" && len(c.pieces) == 0
}

// format reads the schema from where the host has it.
func (d dialect) format(f *wireFormat, out *modeltest.Question) error {
	switch {
	case f == nil:
		return nil
	case d.jsonObject && f.Type == "json_object" && f.JSONSchema == nil:
		instructions, schema, ok := strings.Cut(out.Instructions, "\n\nAnswer with one JSON object that keeps to this JSON Schema:\n")
		if !ok {
			return errors.New("the schema is not in the instructions")
		}
		out.Instructions, out.Schema = instructions, json.RawMessage(schema)
		return nil
	case !d.jsonObject && f.Type == "json_schema" && f.JSONSchema != nil && f.JSONSchema.Name != "" && f.JSONSchema.Strict != nil:
		out.Schema, out.Strict = f.JSONSchema.Schema, *f.JSONSchema.Strict
		return nil
	}
	return fmt.Errorf("the format is %+v", f)
}

// message reads one message; it has the fields of its role and no others.
func (d dialect) message(m wireMessage) (*messagev1.Item, error) {
	bare := m.ToolCallID == "" && len(m.ToolCalls) == 0 && m.ReasoningContent == nil && len(m.ReasoningDetails) == 0
	switch {
	case m.Role == "assistant" && m.ToolCallID == "" && (m.Content != nil || len(m.ToolCalls) > 0):
		return d.answered(m)
	case m.Content == nil || m.Content.pieces != nil && (m.Role != "user" || !bare):
		return nil, fmt.Errorf("%+v has no content of its role", m)
	case m.Role == "tool" && m.ToolCallID != "" && len(m.ToolCalls) == 0:
		id, err := d.original(m.ToolCallID)
		return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: id, Text: m.Content.text}}}, err
	case m.Role == d.developer && bare && (m.Role != "user" || m.Content.text == "Say it again."):
		return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: m.Content.text}}}, nil
	case m.Role == "user" && bare:
		return asked(*m.Content)
	}
	return nil, fmt.Errorf("%+v is not well formed", m)
}

// asked reads a user's message: a text, and images behind it.
func asked(c wireContent) (*messagev1.Item, error) {
	u := &messagev1.UserMessage{Text: c.text}
	for i, p := range c.pieces {
		if p.ImageURL == nil {
			if i > 0 || len(c.pieces) == 1 {
				return nil, fmt.Errorf("a text is piece %d of %d", i, len(c.pieces))
			}
			u.Text = p.Text
			continue
		}
		image, err := modeltest.ShownURL(p.ImageURL.URL)
		if err != nil {
			return nil, err
		}
		u.Attachments = append(u.Attachments, image)
	}
	return &messagev1.Item{Item: &messagev1.Item_User{User: u}}, nil
}

func (d dialect) answered(m wireMessage) (*messagev1.Item, error) {
	a := &messagev1.AssistantMessage{}
	switch {
	case d.back == "reasoning_content" && len(m.ToolCalls) > 0 && m.ReasoningContent == nil:
		return nil, fmt.Errorf("a call comes without the thought before it: %+v", m)
	case d.back == "reasoning_content" && m.ReasoningContent != nil && *m.ReasoningContent == "": // beside a call that nothing was thought for
	case m.ReasoningContent != nil && d.back == "reasoning_content":
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: []byte(`{"host":"deepseek"}`)}}})
	case len(m.ReasoningDetails) > 0 && d.back == "reasoning_details":
		data, err := json.Marshal(seal{Host: "openrouter", Details: m.ReasoningDetails})
		if err != nil {
			return nil, err
		}
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: data}}})
	case m.ReasoningContent != nil || len(m.ReasoningDetails) > 0:
		return nil, fmt.Errorf("thoughts go to a host that does not want them: %+v", m)
	}
	if m.Content != nil {
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: m.Content.text}})
	}
	for _, c := range m.ToolCalls {
		id, err := d.original(c.ID)
		if err != nil || c.Type != "function" || c.Function.Name == "" || !json.Valid([]byte(c.Function.Arguments)) {
			return nil, fmt.Errorf("the call %+v is not well formed: %w", c, err)
		}
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: id, Name: c.Function.Name, Arguments: c.Function.Arguments}}})
	}
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: a}}, nil
}

var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// original gives the suite's id of a call behind the one that the host takes.
func (d dialect) original(id string) (string, error) {
	if !d.nineLetters {
		return id, nil
	}
	if !nine.MatchString(id) {
		return "", fmt.Errorf("the id %q has not nine letters", id)
	}
	h, err := find("mistral")
	if err != nil {
		return "", err
	}
	for _, known := range []string{"call_1", "call_2", "call_3", "call_a", "call_b", "call_c"} {
		if h.callID(known) == id {
			return known, nil
		}
	}
	return id, nil
}
