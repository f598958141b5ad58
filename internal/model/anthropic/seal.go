package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// The types of blocks that hold a thought.
const (
	thinkingType = "thinking"
	redactedType = "redacted_thinking"
)

// seal is what Reasoning.Private holds: a block as it goes back. The readable thought
// is part of what its signature signs, so that it is kept here as well.
type seal struct {
	Type      string  `json:"type"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
}

// sealed gives the private bytes of a block; nil when it has no signature, without
// which the API does not take it back.
func (s seal) sealed() []byte {
	if s.Signature == "" && s.Data == "" {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return data
}

// unseal reads private bytes; false for what is no block of this provider.
func unseal(private []byte) (sdk.ContentBlockParamUnion, bool) {
	var s seal
	if len(private) == 0 || json.Unmarshal(private, &s) != nil {
		return sdk.ContentBlockParamUnion{}, false
	}
	switch {
	case s.Type == thinkingType && s.Signature != "":
		p := param.Override[sdk.ThinkingBlockParam](json.RawMessage(private))
		return sdk.ContentBlockParamUnion{OfThinking: &p}, true
	case s.Type == redactedType && s.Data != "":
		p := param.Override[sdk.RedactedThinkingBlockParam](json.RawMessage(private))
		return sdk.ContentBlockParamUnion{OfRedactedThinking: &p}, true
	}
	return sdk.ContentBlockParamUnion{}, false
}
