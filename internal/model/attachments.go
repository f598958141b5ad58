package model

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// imageTypes are the media types that can be shown to a model with eyes.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Image is an attachment that a model is shown.
type Image struct {
	Name      string // the file's own; it may be ""
	MediaType string // one of image/png, image/jpeg, image/gif and image/webp
	Data      []byte // the request's own: not to be changed
}

// Base64 is the image's bytes in the standard encoding, with padding.
func (i Image) Base64() string { return base64.StdEncoding.EncodeToString(i.Data) }

// DataURL is the image as a URL that holds it.
func (i Image) DataURL() string { return "data:" + i.MediaType + ";base64," + i.Base64() }

// Show sorts the files beside a text: the images that a model is shown, in their
// order, and the text with a line behind it for each other file. It shows an image
// whose bytes the request has, unless its media type is one of except, which are those
// that a provider does not take. A text without files stays as it is.
func (r Request) Show(text string, beside []*messagev1.Attachment, except ...string) (string, []Image) {
	var images []Image
	for _, a := range beside {
		kind, data := a.GetMediaType(), r.Files[a.GetArtifactId()]
		if len(data) > 0 && slices.Contains(imageTypes, kind) && !slices.Contains(except, kind) {
			images = append(images, Image{a.GetName(), kind, data})
			continue
		}
		line := fmt.Sprintf("[the file %s (%s, %d bytes) cannot be shown to this model]", a.GetName(), kind, a.GetSize())
		if strings.TrimSpace(text) != "" {
			line = text + "\n" + line
		}
		text = line
	}
	return text, images
}
