package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// body writes a request.
func body(id string, req model.Request) ([]byte, error) {
	g := generationOf(id)
	b := requestBody{Contents: contents(req, g.control == byLevel)}
	var declared []function
	for _, t := range req.Tools {
		declared = append(declared, function{Name: t.Name, Description: t.Description, Schema: reduced(t.Schema)})
	}
	if declared != nil {
		b.Tools = []tools{{declared}}
	}
	c := config{MaxOutputTokens: max(req.MaxOutputTokens, 0), Thinking: g.think(req.Effort)}
	instructions := req.Instructions
	if len(req.Schema) > 0 && g.control != byLevel && len(req.Tools) > 0 { // not both, says the API
		instructions = model.AskForSchema(instructions, req.Schema)
	} else if len(req.Schema) > 0 {
		c.MIMEType, c.Schema = "application/json", reduced(req.Schema)
	}
	if instructions != "" {
		b.System = &content{Parts: []part{{Text: &instructions}}}
	}
	if c.MaxOutputTokens > 0 || c.Thinking != nil || c.Schema != nil {
		b.Config = &c
	}
	return json.Marshal(b)
}

// conversation is a history on its way to the API's form: user and model in turns.
type conversation struct {
	files    model.Request // shows what stands beside texts
	contents []content
	signed   bool     // the API wants a signature with calls
	calls    []called // of the last answer, in its order
	results  []*messagev1.ToolResult
}

// called is a call as it was sent; id is "" where the provider gave none.
type called struct{ history, id, name string }

// contents writes a request's items. It changes none of them.
func contents(req model.Request, signed bool) []content {
	c := conversation{files: req, signed: signed}
	for _, item := range req.History {
		if r := item.GetToolResult(); r != nil {
			c.results = append(c.results, r)
			continue
		}
		c.answerCalls()
		switch m := item.GetItem().(type) {
		case *messagev1.Item_User:
			text, images := req.Show(m.User.GetText(), m.User.GetAttachments(), unseen...)
			c.add("user", texts(text)...)
			for _, i := range images {
				c.add("user", picture(i))
			}
		case *messagev1.Item_Developer:
			c.add("user", texts(developer(m.Developer.GetText()))...)
		case *messagev1.Item_Assistant:
			c.add("model", c.answered(m.Assistant)...)
		}
	}
	c.answerCalls()
	return c.contents
}

// add puts parts into the turn of a role: the last one when it has that role.
func (c *conversation) add(role string, parts ...part) {
	if len(parts) == 0 {
		return
	}
	if n := len(c.contents); n > 0 && c.contents[n-1].Role == role {
		c.contents[n-1].Parts = append(c.contents[n-1].Parts, parts...)
		return
	}
	c.contents = append(c.contents, content{role, parts})
}

// texts is a text as a part; none for a blank one.
func texts(s string) []part {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []part{{Text: &s}}
}

// developer marks what Cadre itself says: the API has no role for it, and it is not
// the user's word.
func developer(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return "<developer>\n" + s + "\n</developer>"
}

// answerCalls writes the results that came, in the order of the calls: where calls
// have no ids, the API pairs by order. Images stand behind all results, each with a
// word on where it comes from: that form is the one which all generations take, and
// it keeps the results together, as the API wants them.
func (c *conversation) answerCalls() {
	var parts, images []part
	answer := func(r *messagev1.ToolResult, call called) {
		one, shown := c.result(r, call)
		parts = append(parts, one)
		images = append(images, shown...)
	}
	for _, call := range c.calls {
		for i, r := range c.results {
			if r != nil && r.GetCallId() == call.history {
				answer(r, call)
				c.results[i] = nil
			}
		}
	}
	for _, r := range c.results { // of no call that is known
		if r != nil {
			answer(r, called{id: r.GetCallId(), name: r.GetName()})
		}
	}
	c.add("user", append(parts, images...)...)
	c.calls, c.results = nil, nil
}

// unseen are media types of images that the API does not take.
var unseen = []string{"image/gif"}

func picture(i model.Image) part {
	return part{Inline: &blob{MIMEType: i.MediaType, Data: i.Data}}
}

// result writes a result and, apart, its images.
func (c *conversation) result(r *messagev1.ToolResult, call called) (part, []part) {
	f := &functionResponse{ID: call.id, Name: call.name}
	text, images := c.files.Show(r.GetText(), r.GetAttachments(), unseen...)
	var shown []part
	for _, i := range images {
		which := call.name
		if call.id != "" {
			which += " (" + call.id + ")"
		}
		shown = append(shown, texts(fmt.Sprintf("The image %q, from the result of %s:", i.Name, which))[0], picture(i))
	}
	if r.GetIsError() {
		f.Response.Error = &text
	} else {
		f.Response.Output = &text
	}
	return part{Response: f}, shown
}

// noSignature stands, as the API documents it, where its newer models want the
// signature of a call that another model made.
const noSignature = "skip_thought_signature_validator"

// answered writes an answer of a model: as its seal says, when this provider made it,
// else its text and calls in order.
func (c *conversation) answered(m *messagev1.AssistantMessage) []part {
	var plain []part
	var text strings.Builder
	var calls []*functionCall
	for _, p := range m.GetParts() {
		switch p := p.GetPart().(type) {
		case *messagev1.AssistantPart_Text:
			text.WriteString(p.Text)
			plain = append(plain, texts(p.Text)...)
		case *messagev1.AssistantPart_ToolCall:
			call := &functionCall{ID: p.ToolCall.GetId(), Name: p.ToolCall.GetName(), Args: object(p.ToolCall.GetArguments())}
			c.calls = append(c.calls, called{call.ID, call.ID, call.Name})
			calls = append(calls, call)
			plain = append(plain, part{Call: call})
		}
	}
	if m.GetProvider() == provider {
		if parts, ok := unseal(m).parts(text.String(), calls); ok {
			for i, call := range calls {
				c.calls[i].id = call.ID
			}
			plain = parts
		}
	}
	if c.signed {
		signFirst(plain)
	}
	return plain
}

// signFirst puts a stand-in where no call of an answer is signed.
func signFirst(parts []part) {
	first := -1
	for i, p := range parts {
		if p.Call == nil {
			continue
		}
		if p.Signature != "" {
			return
		}
		if first < 0 {
			first = i
		}
	}
	if first >= 0 {
		parts[first].Signature = noSignature
	}
}

// object gives arguments as the API takes them back: an object. A model may have
// written something else, which then goes back inside of one.
func object(arguments string) json.RawMessage {
	var fields map[string]json.RawMessage
	switch {
	case strings.TrimSpace(arguments) == "":
		return json.RawMessage("{}")
	case json.Unmarshal([]byte(arguments), &fields) == nil && fields != nil:
		return json.RawMessage(arguments)
	}
	data, err := json.Marshal(map[string]string{"invalid_arguments": arguments})
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}
