package chat

import (
	"encoding/json"
	"strings"
)

// request is what is sent, with the fields that we use.
type request struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	Tools               []tool          `json:"tools,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one of a conversation. Content is a string, or a []piece where images
// stand beside it; nil where there is none.
type message struct {
	Role             string            `json:"role"`
	Content          any               `json:"content,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	ToolCalls        []toolCall        `json:"tool_calls,omitempty"`
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

// piece is a part of a message: a text or an image.
type piece struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function callBody `json:"function"`
}

type callBody struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function toolBody `json:"function"`
}

type toolBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *schemaBody `json:"json_schema,omitempty"`
}

type schemaBody struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// chunk is one event of the answer. Where hosts differ in the shape of a field it is
// read by hand, so that a strange one is passed over.
type chunk struct {
	ID      string          `json:"id"`
	Choices []choice        `json:"choices"`
	Usage   *figures        `json:"usage"`
	Error   json.RawMessage `json:"error"`
	done    bool            // the mark at the end, which is no JSON
}

type choice struct {
	Index        int64  `json:"index"`
	Delta        delta  `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ToolCalls        []fragment      `json:"tool_calls"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
}

type fragment struct {
	Index    *int64   `json:"index"` // some hosts give none
	ID       string   `json:"id"`
	Function callBody `json:"function"`
}

// figures are what an answer used.
type figures struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	PromptCacheHits     int64 `json:"prompt_cache_hit_tokens"` // one host's name for cached tokens
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// text is the piece of the answer: a string, or pieces of several kinds in a list.
func (d delta) text() string {
	if s := plain(d.Content); s != "" {
		return s
	}
	text, _ := listed(d.Content)
	return text
}

// thought is the readable thought, from whichever field the host has it in.
func (d delta) thought() string {
	for _, raw := range []json.RawMessage{d.ReasoningContent, d.Reasoning} {
		if s := plain(raw); s != "" {
			return s
		}
	}
	_, thought := listed(d.Content)
	return thought
}

// plain is a JSON string, "" for anything else.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// listed reads content that is a list of texts and thoughts.
func listed(raw json.RawMessage) (text, thought string) {
	var all []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if !strings.HasPrefix(string(raw), "[") || json.Unmarshal(raw, &all) != nil {
		return "", ""
	}
	for _, one := range all {
		switch one.Type {
		case "text":
			text += one.Text
		case "thinking":
			inner, _ := listed(one.Thinking)
			thought += plain(one.Thinking) + inner
		}
	}
	return text, thought
}
