package openai

import (
	"encoding/json"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// TestItems: what users say and calls give, to the byte, with and without images.
func TestItems(t *testing.T) {
	t.Parallel()
	png := &messagev1.Attachment{ArtifactId: "art_1", Name: "a.png", MediaType: "image/png", Size: 2}
	pdf := &messagev1.Attachment{ArtifactId: "art_2", Name: "b.pdf", MediaType: "application/pdf", Size: 9}
	user := func(text string, beside ...*messagev1.Attachment) *messagev1.Item {
		return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text, Attachments: beside}}}
	}
	result := func(text string, beside ...*messagev1.Attachment) *messagev1.Item {
		return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: "c", Name: "n", Text: text, Attachments: beside}}}
	}
	const words = `[the file b.pdf (application/pdf, 9 bytes) cannot be shown to this model]`
	for name, c := range map[string]struct {
		item *messagev1.Item
		want string
	}{
		"text":                {user("Hi."), `{"content":"Hi.","role":"user"}`},
		"text and a file":     {user("Hi.", pdf), `{"content":"Hi.\n` + words + `","role":"user"}`},
		"text and an image":   {user("Hi.", pdf, png), `{"content":[{"text":"Hi.\n` + words + `","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,+/8=","type":"input_image"}],"role":"user"}`},
		"an image":            {user("", png), `{"content":[{"detail":"auto","image_url":"data:image/png;base64,+/8=","type":"input_image"}],"role":"user"}`},
		"result":              {result("r"), `{"output":"r","call_id":"c","type":"function_call_output"}`},
		"empty result":        {result(""), `{"output":"","call_id":"c","type":"function_call_output"}`},
		"result and a file":   {result("", pdf), `{"output":"` + words + `","call_id":"c","type":"function_call_output"}`},
		"result and an image": {result("r", png), `{"output":[{"text":"r","type":"input_text"},{"image_url":"data:image/png;base64,+/8=","detail":"auto","type":"input_image"}],"call_id":"c","type":"function_call_output"}`},
	} {
		got, err := json.Marshal(input(model.Request{History: []*messagev1.Item{c.item}, Files: map[string][]byte{"art_1": []byte("\xfb\xff"), "art_2": []byte("%PDF")}}))
		if err != nil || string(got) != "["+c.want+"]" {
			t.Errorf("%s: %s, %v, want [%s]", name, got, err, c.want)
		}
	}
}
