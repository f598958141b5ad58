package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/responses"
)

// The types of items that leave something private in the history.
const (
	reasoningType = "reasoning"
	messageType   = "message"
)

// seal is what Reasoning.Private holds: a reasoning item as it goes back, or the
// phase of the message that follows.
type seal struct {
	Type             string          `json:"type"`
	ID               string          `json:"id,omitempty"`
	Summary          json.RawMessage `json:"summary,omitempty"`
	Content          json.RawMessage `json:"content,omitempty"`
	EncryptedContent string          `json:"encrypted_content,omitempty"`
	Phase            string          `json:"phase,omitempty"`
}

// sealed gives the private bytes of an item, nil when it has none. A reasoning item
// without encrypted content is no use: the provider did not store it, and would look
// for it in vain.
func sealed(item responses.ResponseOutputItemUnion) []byte {
	var s seal
	if json.Unmarshal([]byte(item.RawJSON()), &s) != nil {
		return nil
	}
	switch s.Type {
	case reasoningType:
		if s.EncryptedContent == "" {
			return nil
		}
		if len(s.Summary) == 0 || string(s.Summary) == "null" {
			s.Summary = json.RawMessage("[]")
		}
		if string(s.Content) == "null" || string(s.Content) == "[]" {
			s.Content = nil
		}
		s.Phase = ""
	case messageType:
		if s.Phase == "" {
			return nil
		}
		s = seal{Type: s.Type, Phase: s.Phase}
	default:
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return data
}

// openSeal reads private bytes; what cannot be read is empty.
func openSeal(private []byte) seal {
	var s seal
	if json.Unmarshal(private, &s) != nil {
		return seal{}
	}
	return s
}
