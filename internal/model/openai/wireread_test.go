package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// wireRequest is a request of the Responses API, as far as we use it.
type wireRequest struct {
	Model             string            `json:"model"`
	Instructions      string            `json:"instructions"`
	Input             []json.RawMessage `json:"input"`
	Store             *bool             `json:"store"`
	Stream            *bool             `json:"stream"`
	Include           []string          `json:"include"`
	Tools             []wireTool        `json:"tools"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	MaxOutputTokens   int               `json:"max_output_tokens"`
	Reasoning         *struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	Text *struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict *bool           `json:"strict"`
		} `json:"format"`
	} `json:"text"`
}

type wireTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// read judges a request.
func read(r *http.Request, body []byte) (modeltest.Question, error) {
	var q wireRequest
	if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" || r.URL.RawQuery != "" {
		return modeltest.Question{}, fmt.Errorf("the request is %s %s", r.Method, r.URL)
	}
	err := modeltest.Headers(r, map[string]string{"Authorization": "Bearer " + modeltest.Key, "X-Client-Request-Id": "*"})
	if err == nil {
		err = modeltest.Strict(body, &q)
	}
	switch {
	case err != nil:
		return modeltest.Question{}, err
	case q.Store == nil || *q.Store || q.Stream == nil || !*q.Stream:
		err = errors.New("store must be false and stream true")
	case len(q.Include) != 1 || q.Include[0] != "reasoning.encrypted_content":
		err = fmt.Errorf("include is %q", q.Include)
	case len(q.Tools) > 0 && (q.ParallelToolCalls == nil || !*q.ParallelToolCalls):
		err = errors.New("the tools are not allowed to run in parallel")
	}
	if err != nil {
		return modeltest.Question{}, err
	}
	out := modeltest.Question{
		Model: q.Model, Instructions: q.Instructions, MaxOutputTokens: q.MaxOutputTokens,
		RequestID: r.Header.Get("X-Client-Request-Id"), Silent: []string{"IsError"},
	}
	if q.Reasoning != nil {
		out.Effort = q.Reasoning.Effort
	}
	if q.Text != nil {
		f := q.Text.Format
		if f.Type != "json_schema" || f.Name == "" || f.Strict == nil {
			return out, fmt.Errorf("the format is %+v", f)
		}
		out.Schema, out.Strict = f.Schema, *f.Strict
	}
	for _, t := range q.Tools {
		if t.Type != "function" || t.Strict == nil || *t.Strict || len(t.Parameters) == 0 {
			return out, fmt.Errorf("the tool is %+v", t)
		}
		out.Tools = append(out.Tools, model.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	out.History, err = readInput(q.Input)
	return out, err
}

// wireItem is any of the items that we send; the fields that an item of its type has
// not are empty.
type wireItem struct {
	Type             string           `json:"type"`
	ID               string           `json:"id"`
	Role             string           `json:"role"`
	Content          json.RawMessage  `json:"content"`
	Phase            string           `json:"phase"`
	CallID           string           `json:"call_id"`
	Name             string           `json:"name"`
	Arguments        *string          `json:"arguments"`
	Output           json.RawMessage  `json:"output"`
	Summary          *json.RawMessage `json:"summary"`
	EncryptedContent string           `json:"encrypted_content"`
}

// readInput reads the items; what the model said in a row is one answer.
func readInput(items []json.RawMessage) ([]*messagev1.Item, error) {
	var all []*messagev1.Item
	var open *messagev1.AssistantMessage
	led := true // each reasoning item must lead to something
	part := func(p *messagev1.AssistantPart) {
		if open == nil {
			open = &messagev1.AssistantMessage{}
			all = append(all, &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: open}})
		}
		open.Parts = append(open.Parts, p)
		led = p.GetReasoning() == nil
	}
	for _, raw := range items {
		var it wireItem
		if err := modeltest.Strict(raw, &it); err != nil {
			return nil, err
		}
		switch kind := it.Type + "/" + it.Role; kind {
		case "reasoning/":
			if it.ID == "" || it.Summary == nil || it.EncryptedContent == "" || it.EncryptedContent == "partial" {
				return nil, fmt.Errorf("the reasoning item is %s", raw)
			}
			part(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: raw}}})
		case "/assistant":
			if it.Phase != "" {
				part(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: fmt.Appendf(nil, `{"type":"message","phase":%q}`, it.Phase)}}})
			}
			part(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: plain(it.Content)}})
		case "function_call/":
			if it.CallID == "" || it.Name == "" || it.Arguments == nil || !json.Valid([]byte(*it.Arguments)) {
				return nil, fmt.Errorf("the call is %s", raw)
			}
			part(&messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: it.CallID, Name: it.Name, Arguments: *it.Arguments}}})
		case "function_call_output/", "/user", "/developer":
			open = nil
			if !led {
				return nil, fmt.Errorf("a reasoning item comes without what it led to, before %s", raw)
			}
			item, err := readOther(kind, it)
			if err != nil {
				return nil, err
			}
			all = append(all, item)
		default:
			return nil, fmt.Errorf("nobody knows the item %s", raw)
		}
	}
	return all, nil
}

func readOther(kind string, it wireItem) (*messagev1.Item, error) {
	switch kind {
	case "/user":
		text, images, err := content(it.Content)
		return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text, Attachments: images}}}, err
	case "/developer":
		return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: plain(it.Content)}}}, nil
	}
	if it.CallID == "" || it.Output == nil {
		return nil, fmt.Errorf("the result is %+v", it)
	}
	text, images, err := content(it.Output)
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: it.CallID, Text: text, Attachments: images}}}, err
}

// content reads a text, or a list of at most one text and then images.
func content(raw json.RawMessage) (text string, images []*messagev1.Attachment, err error) {
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, nil
	}
	var list []json.RawMessage
	if err := modeltest.Strict(raw, &list); err != nil {
		return "", nil, err
	}
	for i, one := range list {
		var p struct {
			Type     string  `json:"type"`
			Text     *string `json:"text"`
			ImageURL string  `json:"image_url"`
			Detail   string  `json:"detail"`
		}
		if err := modeltest.Strict(one, &p); err != nil {
			return "", nil, err
		}
		switch {
		case p.Type == "input_text" && i == 0 && p.Text != nil && *p.Text != "" && p.ImageURL == "" && p.Detail == "":
			text = *p.Text
		case p.Type == "input_image" && p.Text == nil && p.Detail == "auto":
			image, err := modeltest.ShownURL(p.ImageURL)
			if err != nil {
				return "", nil, err
			}
			images = append(images, image)
		default:
			return "", nil, fmt.Errorf("piece %d of the content is %s", i, one)
		}
	}
	if len(images) == 0 {
		return "", nil, fmt.Errorf("a list without images is %s", raw)
	}
	return text, images, nil
}

func plain(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) != nil {
		return "not a text: " + string(content)
	}
	return s
}
