// Package artifact is the noun of files: what turns leave behind because it is too
// large for a message, and what people attach to theirs. Turns make theirs by
// themselves; here files are uploaded, and found again.
package artifact

import (
	"google.golang.org/protobuf/proto"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/store"
)

// Kind is what the noun registers.
func Kind() pipeline.Kind {
	return pipeline.Kind{
		Kind: resourcev1.ResourceKind_artifact, New: func() proto.Message { return &artifactv1.Artifact{} },
		Index: store.ArtifactIndex, Listed: true, Verbs: verbs, Search: search.Extract(1, content),
	}
}

// content is what files are found by, beside their name. Their bytes are not read.
func content(a *artifactv1.Artifact) search.Content {
	return search.Content{Text: a.GetSpec().GetMediaType(), Session: a.GetSpec().GetSessionId()}
}
