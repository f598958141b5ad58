package cli

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
)

// strictJSON refuses a .json file that is no JSON: the YAML reader would let
// trailing commas and bare words through. Other files are no matter of this.
func (s *source) strictJSON(file, text string) *problem {
	if filepath.Ext(file) != ".json" {
		return nil
	}
	body := strings.TrimPrefix(text, "\uFEFF")
	d := json.NewDecoder(strings.NewReader(body))
	for {
		var skip json.RawMessage
		err := d.Decode(&skip)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			continue
		}
		at := int64(len(body)) // where it ends too early
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = min(max(syntax.Offset-1, 0), at)
		}
		before := body[:at]
		line := strings.Count(before, "\n") + 1
		column := int(at) - strings.LastIndexByte(before, '\n')
		p := s.at(line, column, "this is no JSON: %s; name the file .yaml if it is meant as YAML", err)
		return &p
	}
}
