package gemini

import (
	"encoding/json"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// seal is what Reasoning.Private holds: how an answer was made of parts, and which of
// them carried a signature. The text and the calls stand in the answer itself, so
// that each is kept once. An answer without signatures has no seal.
type seal struct {
	Parts []sealed `json:"parts"`
}

// sealed is one part: so many bytes of the text, the next call, or a signed thought.
type sealed struct {
	Kind      string `json:"kind"` // text, call or thought
	Bytes     int    `json:"bytes,omitempty"`
	NoID      bool   `json:"no_id,omitempty"`   // the provider gave the call no id
	Thought   string `json:"thought,omitempty"` // its readable text
	Signature string `json:"signature,omitempty"`
}

// The kinds of parts.
const (
	textKind    = "text"
	callKind    = "call"
	thoughtKind = "thought"
)

// add takes a part that came. Text without a signature joins what is before it; a
// thought without one is nothing to give back.
func (s *seal) add(p sealed) {
	n := len(s.Parts)
	switch {
	case p.Kind == thoughtKind && p.Signature == "":
	case p.Kind == textKind && p.Signature == "" && n > 0 && s.Parts[n-1].Kind == textKind && s.Parts[n-1].Signature == "":
		s.Parts[n-1].Bytes += p.Bytes
	default:
		s.Parts = append(s.Parts, p)
	}
}

// private gives the bytes to keep; nil when nothing was signed.
func (s *seal) private() []byte {
	signed := false
	for _, p := range s.Parts {
		signed = signed || p.Signature != ""
	}
	if !signed {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return data
}

// unseal finds the seal of an answer; an empty one when there is none.
func unseal(m *messagev1.AssistantMessage) *seal {
	for _, p := range m.GetParts() {
		var s seal
		if private := p.GetReasoning().GetPrivate(); len(private) > 0 && json.Unmarshal(private, &s) == nil && len(s.Parts) > 0 {
			return &s
		}
	}
	return &seal{}
}

// parts makes the answer again, as it came. It answers false when the seal does not
// fit the text and the calls; ids of calls are taken away only when it does.
func (s *seal) parts(text string, calls []*functionCall) ([]part, bool) {
	var all []part
	next := 0
	for _, p := range s.Parts {
		switch {
		case p.Kind == textKind && p.Bytes >= 0 && p.Bytes <= len(text):
			piece := text[:p.Bytes]
			text = text[p.Bytes:]
			if p.Signature == "" && strings.TrimSpace(piece) == "" {
				continue
			}
			all = append(all, part{Text: &piece, Signature: p.Signature})
		case p.Kind == callKind && next < len(calls):
			all = append(all, part{Call: calls[next], Signature: p.Signature})
			next++
		case p.Kind == thoughtKind:
			all = append(all, part{Text: &p.Thought, Thought: true, Signature: p.Signature})
		default:
			return nil, false
		}
	}
	if text != "" || next != len(calls) || len(all) == 0 {
		return nil, false
	}
	next = 0
	for _, p := range s.Parts {
		if p.Kind == callKind {
			if p.NoID {
				calls[next].ID = ""
			}
			next++
		}
	}
	return all, true
}
