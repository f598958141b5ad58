package turn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	// mostShown bounds, in bytes, the images of one request; those that came first
	// are shown, so that what was sent once is sent again.
	mostShown = 24 << 20
	// mostText bounds, in bytes, what is read of a text that came as an attachment.
	mostText = 1 << 20
	// imageTokens is an upper bound of what providers count for one image.
	imageTokens = 16_000
)

// shown is the history as the model sees it: texts that came as attachments are
// part of their message, and the bytes of images are at hand. It only grows, and
// depends on nothing but the history, so that requests keep their beginnings.
type shown struct {
	history []*messagev1.Item
	files   map[string][]byte
	bytes   int
}

// show brings t.shown up to the history.
func (t *turn) show(ctx context.Context) error {
	for _, item := range t.history[len(t.shown.history):] {
		seen, err := t.unfold(ctx, item)
		if err != nil {
			return err
		}
		t.shown.history = append(t.shown.history, seen)
	}
	return nil
}

// unfold gives an item its attachments.
func (t *turn) unfold(ctx context.Context, item *messagev1.Item) (*messagev1.Item, error) {
	for _, a := range slices.Concat(item.GetUser().GetAttachments(), item.GetToolResult().GetAttachments()) {
		if isImage(a) {
			if err := t.loadImage(ctx, a); err != nil {
				return nil, err
			}
		}
	}
	if !slices.ContainsFunc(item.GetUser().GetAttachments(), isText) {
		return item, nil
	}
	user := proto.Clone(item.GetUser()).(*messagev1.UserMessage)
	user.Attachments = slices.DeleteFunc(user.Attachments, isText)
	for _, a := range item.GetUser().GetAttachments() {
		if !isText(a) {
			continue
		}
		text, err := t.content(ctx, a, mostText)
		if err != nil {
			return nil, err
		}
		user.Text += fmt.Sprintf("\n\nThe attached file %s:\n\n%s", a.GetName(), strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	return &messagev1.Item{Item: &messagev1.Item_User{User: user}}, nil
}

// loadImage has the bytes of an image at hand, when the model can see and there is
// room. Without them the model is told that it cannot be shown.
func (t *turn) loadImage(ctx context.Context, a *messagev1.Attachment) error {
	if t.shown.bytes+int(a.GetSize()) > mostShown || !t.fx.Sees(t.claim.Policy.GetModel()) {
		return nil
	}
	data, err := t.content(ctx, a, mostShown)
	if err != nil || data == nil {
		return err
	}
	if t.shown.files == nil {
		t.shown.files = map[string][]byte{}
	}
	t.shown.files[a.GetArtifactId()] = data
	t.shown.bytes += len(data)
	return nil
}

// content reads an attachment; nil when its bytes are gone for good.
func (t *turn) content(ctx context.Context, a *messagev1.Attachment, most int64) ([]byte, error) {
	in, err := t.fx.Artifacts().Open(ctx, a.GetSha256())
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most))
	if errors.Is(err, artifact.ErrCorrupt) {
		t.fx.Log().WarnContext(ctx, "an attachment is damaged and is not shown to the model", "artifact", a.GetArtifactId(), "error", err)
		return nil, nil
	}
	return data, err
}

func isImage(a *messagev1.Attachment) bool { return slices.Contains(tool.ImageTypes, a.GetMediaType()) }

// isText tells a file that is shown as text: all that is no image, since nothing
// else is taken as an attachment.
func isText(a *messagev1.Attachment) bool { return !isImage(a) }

// attachmentTokens is an upper bound of what a request counts for an attachment.
func attachmentTokens(a *messagev1.Attachment) int {
	if isImage(a) {
		return imageTokens
	}
	return int(min(a.GetSize(), mostText))
}
