package turn

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// inline answers the text that goes into history. A result over the limit is
// kept whole as an artifact; the model gets its head, its tail and its name.
func (t *turn) inline(ctx context.Context, c *call, text string) (short, artifactID string, err error) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= t.opt.InlineBytes {
		return text, "", nil
	}
	kept, err := t.fx.Artifacts().Put(ctx, strings.NewReader(text))
	if err != nil {
		return "", "", err
	}
	a, err := t.putArtifact(ctx, c, kept, c.Call.GetName()+" result", plainText)
	if err != nil {
		return "", "", err
	}
	artifactID = a.GetArtifactId()
	return shorten(text, t.opt.InlineBytes/2, artifactID), artifactID, err
}

// shorten keeps three quarters of the room for the head and one for the tail,
// cut between characters.
func shorten(text string, room int, artifactID string) string {
	head, tail := room*3/4, len(text)-room/4
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n\n[... %d of %d bytes are left out here; the whole result is artifact %s ...]\n\n%s",
		text[:head], tail-head, len(text), artifactID, text[tail:])
}

const plainText = "text/plain; charset=utf-8"

// keepFiles makes artifacts of what a tool gives to the model beside text.
func (t *turn) keepFiles(ctx context.Context, c *call, files []tool.File) ([]*messagev1.Attachment, error) {
	var all []*messagev1.Attachment
	for _, f := range files {
		kept, err := t.fx.Artifacts().Put(ctx, bytes.NewReader(f.Data))
		if err != nil {
			return nil, err
		}
		a, err := t.putArtifact(ctx, c, kept, f.Name, f.MediaType)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// putArtifact records an artifact whose bytes are kept.
func (t *turn) putArtifact(ctx context.Context, c *call, kept artifact.Stored, name, mediaType string) (*messagev1.Attachment, error) {
	a := &messagev1.Attachment{
		ArtifactId: id.New(resource.Meta(resourcev1.ResourceKind_artifact).GetPrefix()), Name: name, MediaType: mediaType, Sha256: kept.SHA256, Size: kept.Size,
	}
	row, err := t.artifactRow(a, c)
	if err != nil {
		return nil, err
	}
	return a, t.fx.Ledger().PutArtifact(ctx, t.claim.Fence, row, t.event(&eventv1.ArtifactCreated{
		ArtifactId: a.GetArtifactId(), Sha256: a.GetSha256(), Size: a.GetSize(), MediaType: a.GetMediaType(), Name: a.GetName(),
	}))
}

// artifactRow makes the resource of an artifact that belongs to a call.
func (t *turn) artifactRow(a *messagev1.Attachment, c *call) (store.Row, error) {
	kind := resourcev1.ResourceKind_artifact
	now := t.fx.Now()
	m := &artifactv1.Artifact{
		Metadata: &resourcev1.Metadata{Id: a.GetArtifactId(), Org: t.claim.Org, Name: a.GetName(), Version: &resourcev1.Version{Number: 1}, Visibility: resourcev1.Visibility_private},
		Spec: &artifactv1.ArtifactSpec{
			SessionId: t.claim.Session, ExecutionId: t.claim.Execution, CallId: c.id(), Sha256: a.GetSha256(), Size: a.GetSize(), MediaType: a.GetMediaType(),
		},
	}
	resource.SetIdentity(m, kind)
	resource.Stamp(m.GetMetadata(), "", now, true)
	data, err := proto.Marshal(m)
	return store.Row{
		Kind: kind, ID: a.GetArtifactId(), Org: t.claim.Org, Name: m.GetMetadata().GetName(), Visibility: m.GetMetadata().GetVisibility().String(),
		Version: 1, CreatedAt: now, UpdatedAt: now, Index: store.IndexOf(m, store.ArtifactIndex), Data: data,
	}, err
}
