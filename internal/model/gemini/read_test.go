package gemini_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// The request as the API documents it, as far as this provider uses it.
type (
	wireCall struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	wireResponse struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Response struct {
			Output *string `json:"output"`
			Error  *string `json:"error"`
		} `json:"response"`
	}
	wirePart struct {
		Text      *string       `json:"text"`
		Thought   bool          `json:"thought"`
		Signature string        `json:"thoughtSignature"`
		Call      *wireCall     `json:"functionCall"`
		Response  *wireResponse `json:"functionResponse"`
		Inline    *struct {
			MIMEType string `json:"mimeType"`
			Data     string `json:"data"`
		} `json:"inlineData"`
	}
	wireContent struct {
		Role  string     `json:"role"`
		Parts []wirePart `json:"parts"`
	}
	wireRequest struct {
		System   *wireContent  `json:"systemInstruction"`
		Contents []wireContent `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Schema      json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			MaxOutputTokens int             `json:"maxOutputTokens"`
			MIMEType        string          `json:"responseMimeType"`
			Schema          json.RawMessage `json:"responseJsonSchema"`
			Thinking        *struct {
				Include bool   `json:"includeThoughts"`
				Level   string `json:"thinkingLevel"`
				Budget  *int   `json:"thinkingBudget"`
			} `json:"thinkingConfig"`
		} `json:"generationConfig"`
	}
)

// known are the keywords that the API takes in the schema of an answer.
var known = []string{
	"$id", "$ref", "$anchor", "$defs", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "minLength", "default",
	"anyOf", "oneOf", "properties", "additionalProperties", "required",
}

// fromCall is the word before an image of a result.
var fromCall = regexp.MustCompile(`^The image ".*", from the result of \w+ \((.*)\):$`)

// read judges a request.
func read(r *http.Request, body []byte) (modeltest.Question, error) {
	q := modeltest.Question{Silent: []string{"RequestID", "Strict"}}
	id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.String(), "/v1beta/models/"), ":streamGenerateContent?alt=sse")
	if r.Method != http.MethodPost || !ok {
		return q, fmt.Errorf("it goes to %s %s", r.Method, r.URL)
	}
	if err := modeltest.Headers(r, map[string]string{"X-Goog-Api-Key": modeltest.Key}); err != nil {
		return q, err
	}
	var w wireRequest
	if err := modeltest.Strict(body, &w); err != nil {
		return q, err
	}
	q.Model, q.MaxOutputTokens, q.Schema = id, w.Config.MaxOutputTokens, w.Config.Schema
	if w.System != nil {
		q.Instructions = *w.System.Parts[0].Text
	}
	for _, f := range w.Tools[0].Functions {
		q.Tools = append(q.Tools, model.ToolSpec{Name: f.Name, Description: f.Description, Schema: f.Schema})
	}
	if t := w.Config.Thinking; t != nil {
		q.Effort = strings.ToLower(t.Level)
		if t.Budget != nil || !t.Include {
			return q, fmt.Errorf("the thinking is %+v", t)
		}
	}
	if (w.Config.MIMEType == "application/json") != (len(w.Config.Schema) > 0) {
		return q, fmt.Errorf("the type is %q and the schema %s", w.Config.MIMEType, w.Config.Schema)
	}
	if len(w.Config.Schema) > 0 {
		if err := modeltest.Keywords(w.Config.Schema, known, false); err != nil {
			return q, err
		}
	}
	h := reader{}
	for i, c := range w.Contents {
		if want := []string{"user", "model"}[i%2]; c.Role != want {
			return q, fmt.Errorf("content %d is of the role %q, want %q", i, c.Role, want)
		}
		if err := h.content(c); err != nil {
			return q, fmt.Errorf("content %d: %w", i, err)
		}
	}
	q.History = h.items
	return q, nil
}

// reader turns contents into items.
type reader struct {
	items []*messagev1.Item
	open  []wireCall // calls of the last answer
}

func (h *reader) content(c wireContent) error {
	if len(c.Parts) == 0 {
		return fmt.Errorf("it has no parts")
	}
	for _, p := range c.Parts {
		set := 0
		for _, is := range []bool{p.Text != nil, p.Call != nil, p.Response != nil, p.Inline != nil} {
			if is {
				set++
			}
		}
		if set != 1 || p.Text != nil && *p.Text == "" && p.Signature == "" {
			return fmt.Errorf("a part has %d kinds: %+v", set, p)
		}
	}
	if c.Role == "user" {
		return h.user(c.Parts)
	}
	return h.model(c.Parts)
}

// user reads a user's turn: first the results of all calls, in their order.
func (h *reader) user(parts []wirePart) error {
	if len(parts) < len(h.open) {
		return fmt.Errorf("%d calls have %d parts for an answer", len(h.open), len(parts))
	}
	for i, p := range parts {
		r := p.Response
		switch {
		case i < len(h.open) && (r == nil || r.ID != h.open[i].ID || r.Name != h.open[i].Name):
			return fmt.Errorf("part %d is %+v, want the result of %+v", i, p, h.open[i])
		case i >= len(h.open) && r != nil:
			return fmt.Errorf("part %d is the result of no call", i)
		case p.Signature != "" || p.Thought:
			return fmt.Errorf("a user does not think")
		case p.Inline != nil:
			if err := h.image(parts, i); err != nil {
				return err
			}
		case r == nil && fromCall.MatchString(*p.Text): // of the image that follows
		case r == nil:
			h.items = append(h.items, said(*p.Text))
		default:
			item := &messagev1.ToolResult{CallId: r.ID, Name: r.Name}
			switch {
			case r.Response.Output != nil && r.Response.Error == nil:
				item.Text = *r.Response.Output
			case r.Response.Error != nil && r.Response.Output == nil:
				item.Text, item.IsError = *r.Response.Error, true
			default:
				return fmt.Errorf("the result is %+v", r.Response)
			}
			h.items = append(h.items, &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: item}})
		}
	}
	h.open = nil
	return nil
}

// image puts an image beside what it came with.
func (h *reader) image(parts []wirePart, i int) error {
	image, err := modeltest.Shown(parts[i].Inline.MIMEType, parts[i].Inline.Data)
	if err != nil {
		return err
	}
	if i == 0 {
		h.items = append(h.items, said(""))
	} else if before := parts[i-1].Text; before != nil && fromCall.MatchString(*before) {
		id := fromCall.FindStringSubmatch(*before)[1]
		for _, item := range h.items {
			if r := item.GetToolResult(); r != nil && r.GetCallId() == id {
				r.Attachments = append(r.Attachments, image)
				return nil
			}
		}
		return fmt.Errorf("the image is of the call %s, which has no result", id)
	}
	u := h.items[len(h.items)-1].GetUser()
	if u == nil {
		return fmt.Errorf("the image stands beside %v", h.items[len(h.items)-1])
	}
	u.Attachments = append(u.Attachments, image)
	return nil
}

// said tells the user's words from Cadre's.
func said(text string) *messagev1.Item {
	if inner, ok := strings.CutPrefix(text, "<developer>\n"); ok {
		return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: strings.TrimSuffix(inner, "\n</developer>")}}}
	}
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}
}

// model reads an answer. What is signed in it becomes one seal again.
func (h *reader) model(parts []wirePart) error {
	a := &messagev1.AssistantMessage{}
	type sealed struct {
		Kind      string `json:"kind"`
		Bytes     int    `json:"bytes,omitempty"`
		Signature string `json:"signature,omitempty"`
	}
	var seal struct {
		Parts []sealed `json:"parts"`
	}
	signed := false
	for _, p := range parts {
		one := sealed{Kind: "text", Signature: p.Signature}
		if p.Call != nil {
			one.Kind = "call"
			h.open = append(h.open, *p.Call)
			a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: p.Call.ID, Name: p.Call.Name, Arguments: string(p.Call.Args)}}})
		} else if one.Bytes = len(*p.Text); one.Bytes > 0 {
			a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: *p.Text}})
		}
		seal.Parts = append(seal.Parts, one)
		signed = signed || p.Signature != "" && p.Signature != "skip_thought_signature_validator"
	}
	if len(h.open) > 0 && !strings.Contains(fmt.Sprint(parts), "skip_thought") && !signed {
		return fmt.Errorf("no call is signed: %+v", parts)
	}
	if signed {
		private, err := json.Marshal(seal)
		if err != nil {
			return err
		}
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: &messagev1.Reasoning{Private: private}}})
	}
	h.items = append(h.items, &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: a}})
	return nil
}
