package turn

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
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
	artifactID = id.New(resource.Meta(resourcev1.ResourceKind_artifact).GetPrefix())
	row, err := t.artifactRow(artifactID, c, kept.SHA256, kept.Size)
	if err != nil {
		return "", "", err
	}
	err = t.fx.Ledger().PutArtifact(ctx, t.claim.Fence, row, t.event(&eventv1.ArtifactCreated{
		ArtifactId: artifactID, Sha256: kept.SHA256, Size: kept.Size, MediaType: "text/plain; charset=utf-8", Name: row.Name,
	}))
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

func (t *turn) artifactRow(artifactID string, c *call, sha256 string, size int64) (store.Row, error) {
	kind := resourcev1.ResourceKind_artifact
	now := t.fx.Now()
	m := &artifactv1.Artifact{
		Metadata: &resourcev1.Metadata{Id: artifactID, Org: t.claim.Org, Name: c.Call.GetName() + " result", Version: &resourcev1.Version{Number: 1}, Visibility: resourcev1.Visibility_private},
		Spec: &artifactv1.ArtifactSpec{
			SessionId: t.claim.Session, ExecutionId: t.claim.Execution, CallId: c.id(), Sha256: sha256, Size: size, MediaType: "text/plain; charset=utf-8",
		},
	}
	resource.SetIdentity(m, kind)
	resource.Stamp(m.GetMetadata(), "", now, true)
	data, err := proto.Marshal(m)
	return store.Row{
		Kind: kind, ID: artifactID, Org: t.claim.Org, Name: m.GetMetadata().GetName(), Visibility: m.GetMetadata().GetVisibility().String(),
		Version: 1, CreatedAt: now, UpdatedAt: now, Index: store.IndexOf(m, store.ArtifactIndex), Data: data,
	}, err
}
