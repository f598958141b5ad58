package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/cadre-dev/cadre/internal/model"
)

// params writes a request.
func params(id string, req model.Request) sdk.MessageNewParams {
	h := history(req)
	p := sdk.MessageNewParams{Model: id, MaxTokens: int64(req.MaxOutputTokens), Messages: h.messages}
	if p.MaxTokens <= 0 {
		p.MaxTokens = maxTokens(id)
	}
	instructions := req.Instructions
	if len(req.Schema) > 0 {
		if schema, ok := accepted(id, req.Schema); ok {
			p.OutputConfig.Format = format(schema)
		} else {
			instructions = model.AskForSchema(instructions, req.Schema)
		}
	}
	if instructions != "" {
		p.System = []sdk.TextBlockParam{{Text: instructions}}
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	think(&p, id, req.Effort, h.openWithoutThought)
	mark(&p)
	return p
}

func tool(t model.ToolSpec) sdk.ToolUnionParam {
	p := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
	if t.Description != "" {
		p.Description = param.NewOpt(t.Description)
	}
	return sdk.ToolUnionParam{OfTool: p}
}

// format holds the text of the answer to a schema. The API has a field of its own for
// it; a forced tool, the older way, does not go together with thought.
func format(schema json.RawMessage) sdk.JSONOutputFormatParam {
	data, err := json.Marshal(struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}{"json_schema", schema})
	if err != nil {
		data = []byte(`{"type":"json_schema","schema":false}`) // no JSON: the API says what it thinks of it
	}
	return param.Override[sdk.JSONOutputFormatParam](json.RawMessage(data))
}

// mark tells the provider up to where its cache is worth filling: behind the
// instructions, or the tools where there are none; behind what the request before
// this one ended with; and behind this one's end, for the next. The API takes four
// marks.
func mark(p *sdk.MessageNewParams) {
	here := sdk.NewCacheControlEphemeralParam()
	switch {
	case len(p.System) > 0:
		p.System[len(p.System)-1].CacheControl = here
	case len(p.Tools) > 0:
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = here
	}
	left := 2
	for i := len(p.Messages) - 1; i >= 0 && left > 0; i-- {
		m := p.Messages[i]
		if m.Role != sdk.MessageParamRoleUser || len(m.Content) == 0 {
			continue
		}
		left--
		switch last := m.Content[len(m.Content)-1]; {
		case last.OfText != nil:
			last.OfText.CacheControl = here
		case last.OfImage != nil:
			last.OfImage.CacheControl = here
		case last.OfToolResult != nil:
			last.OfToolResult.CacheControl = here
		}
	}
}
