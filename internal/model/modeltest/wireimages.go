package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// Shown reads an image as it stands on a wire, for Read: the attachment that it was,
// without id and name. The error says what no provider takes: base64 that is not the
// standard one, bytes that are of another type than was said.
func Shown(mediaType, encoded string) (*messagev1.Attachment, error) {
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("an image is not base64: %w", err)
	}
	if got := http.DetectContentType(data); len(data) == 0 || got != mediaType {
		return nil, fmt.Errorf("an image of %d bytes is of the type %s and called %s", len(data), got, mediaType)
	}
	return seen(mediaType, data), nil
}

// ShownURL is Shown for a wire that has images as data URLs.
func ShownURL(url string) (*messagev1.Attachment, error) {
	mediaType, encoded, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		return nil, fmt.Errorf("%.40q is no data URL", url)
	}
	return Shown(mediaType, encoded)
}

func seen(mediaType string, data []byte) *messagev1.Attachment {
	sum := sha256.Sum256(data)
	return &messagev1.Attachment{MediaType: mediaType, Sha256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

// pictures begin like images of their types; some bytes make `+` and `/` of base64.
var pictures = map[string][]byte{
	"image/png":  []byte("\x89PNG\r\n\x1a\n\xfb\xff\xbf a plan"),
	"image/jpeg": []byte("\xff\xd8\xff\xe0\x00\x10JFIF"),
	"image/gif":  []byte("GIF89a\x01\x00\x01\x00\xff\xef\xbe"),
	"image/webp": []byte("RIFF\x24\x00\x00\x00WEBPVP8 \xff\xff\xff"),
}

// picture is an image beside a text; files gets its bytes.
func picture(files map[string][]byte, id, name, mediaType string) *messagev1.Attachment {
	a := seen(mediaType, pictures[mediaType])
	a.ArtifactId, a.Name = id, name
	files[id] = pictures[mediaType]
	return a
}

// illustrated is a request with files beside users' words and results of calls: images
// that can be shown, and others of which the model is told.
func illustrated(provider string) model.Request {
	req := request()
	req.Files = map[string][]byte{"art_pdf": []byte("%PDF-1.7"), "art_odd": []byte("BM")}
	show := func(item *messagev1.Item, files ...*messagev1.Attachment) *messagev1.Item {
		if u := item.GetUser(); u != nil {
			u.Attachments = files
		}
		if r := item.GetToolResult(); r != nil {
			r.Attachments = files
		}
		return item
	}
	png := picture(req.Files, "art_1", "plan of \"it\".png", "image/png")
	lost := &messagev1.Attachment{ArtifactId: "art_lost", Name: "lost.png", MediaType: "image/png", Size: 12345}
	req.History = []*messagev1.Item{
		show(user("What is <this>?"), png, lost, picture(req.Files, "art_2", "b.webp", "image/webp"),
			&messagev1.Attachment{ArtifactId: "art_pdf", Name: "c.pdf", MediaType: "application/pdf", Size: 8}),
		assistant(provider, text("I look."), call("call_1", "read", `{"path":"a"}`), call("call_2", "list", `{}`), call("call_3", "read", `{"path":"c"}`)),
		show(result("call_1", "read", "an image", false), picture(req.Files, "art_3", "a.jpg", "image/jpeg"), png),
		show(result("call_2", "list", "", false), &messagev1.Attachment{ArtifactId: "art_odd", Name: "d.bmp", MediaType: "image/bmp", Size: 2}),
		show(result("call_3", "read", "", false), picture(req.Files, "art_4", "c.gif", "image/gif")),
		assistant(provider, text("I see.")),
		show(user(""), png),
		assistant(provider, text("The same.")),
		show(user("And this?"), lost),
	}
	return req
}

// told is the history as a wire shows it: with the images that it can show, and a line
// for each other file.
func (w Wire) told(req model.Request) []*messagev1.Item {
	sort := func(text string, files []*messagev1.Attachment) (string, []*messagev1.Attachment) {
		var images []*messagev1.Attachment
		lines := strings.Fields(text)[:0]
		if text != "" {
			lines = append(lines, text)
		}
		for _, a := range files {
			_, known := pictures[a.GetMediaType()]
			if data := req.Files[a.GetArtifactId()]; data != nil && known && !slices.Contains(w.Unseen, a.GetMediaType()) {
				images = append(images, seen(a.GetMediaType(), data))
				continue
			}
			lines = append(lines, fmt.Sprintf("[the file %s (%s, %d bytes) cannot be shown to this model]", a.GetName(), a.GetMediaType(), a.GetSize()))
		}
		return strings.Join(lines, "\n"), images
	}
	var all []*messagev1.Item
	for _, item := range req.History {
		switch m := item.GetItem().(type) {
		case *messagev1.Item_User:
			text, images := sort(m.User.GetText(), m.User.GetAttachments())
			item = &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text, Attachments: images}}}
		case *messagev1.Item_ToolResult:
			text, images := sort(m.ToolResult.GetText(), m.ToolResult.GetAttachments())
			item = result(m.ToolResult.GetCallId(), m.ToolResult.GetName(), text, m.ToolResult.GetIsError())
			item.GetToolResult().Attachments = images
		}
		all = append(all, item)
	}
	return all
}

// testImages: images stand beside the words that they came with, files that cannot be
// shown are told of, and what was said before stays the same to the byte.
func testImages(t *testing.T, w Wire) {
	m, s := w.serve(t, func(int) reply { return reply{pieces: pieces(w.Answer(sample))} })
	req := illustrated(w.Provider)
	whole := req.History
	for _, n := range []int{len(whole), len(whole), 5, 1} { // each of them ends where it is the model's turn
		req.History = whole[:n]
		ask(t.Context(), t, m, req).whole(t)
		asked := s.questions()
		asked[len(asked)-1].compareHistory(t, w.told(req))
	}
	bodies := s.written()
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("the same request is written as\n%s\nand\n%s", bodies[0], bodies[1])
	}
	for _, data := range pictures {
		if n := bytes.Count(bodies[3], []byte(base64.StdEncoding.EncodeToString(data))); n > 1 {
			t.Errorf("an image stands %d times in %s", n, bodies[3])
		}
	}
}

// testIllustrated: any provider takes files beside texts, and changes nothing of them.
func testIllustrated(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"Nice."}, Finish: "stop"}))
	req := illustrated(d.Provider)
	before := fmt.Sprint(req.History, req.Files)
	if s := ask(t.Context(), t, m, req).whole(t); s.text != "Nice." {
		t.Errorf("the answer is %q", s.text)
	}
	if after := fmt.Sprint(req.History, req.Files); after != before {
		t.Errorf("the request is now %s, was %s", after, before)
	}
}
