package artifact

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/tool"
)

func verbs(d pipeline.Deps) []pipeline.Verb {
	k := Kind()
	return []pipeline.Verb{
		{
			Procedure: pipeline.Procedure(k, "Create"), Permission: "create", Output: k.New,
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "create", k.Kind), pipeline.Validate(d), pipeline.Recall(d), takeUpload(), pipeline.RequireOrg(d, k),
				keep(d), build(d), pipeline.PersistNew(d, k),
			},
		},
		{
			Procedure: pipeline.Procedure(k, "Download"), Permission: "view", Output: func() proto.Message { return &artifactv1.DownloadArtifactResponse{} },
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "view", k.Kind), pipeline.Validate(d), pipeline.LoadRef(d, k), pipeline.AuthorizeTarget(d, "view", k.Kind), link(d),
			},
		},
	}
}

// takeUpload makes the resource that an upload implies.
func takeUpload() pipeline.Step {
	return pipeline.Step{Name: "take upload", Do: func(_ context.Context, r *pipeline.Request) error {
		in := r.Message.(*artifactv1.CreateArtifactRequest)
		if name := in.GetName(); name != path.Base(name) || strings.ContainsAny(name, "\\\x00\r\n") || name == "." || name == ".." {
			return badUpload("name", "artifact.name", "give the file's own name, without folders")
		}
		media, err := mediaType(in)
		if err != nil {
			return err
		}
		r.Desired = &artifactv1.Artifact{
			Metadata: &resourcev1.Metadata{Org: r.Org, Name: in.GetName(), Visibility: resourcev1.Visibility_private},
			Spec:     &artifactv1.ArtifactSpec{MediaType: media, Size: int64(len(in.GetContent()))},
		}
		return nil
	}}
}

// mediaType is what the caller says, else what the bytes show, else what the name does.
func mediaType(in *artifactv1.CreateArtifactRequest) (string, error) {
	image, isImage := tool.ImageOf(in.GetContent())
	if said := in.GetMediaType(); said != "" {
		parsed, params, err := mime.ParseMediaType(said)
		if err != nil {
			return "", badUpload("media_type", "artifact.media_type", "it is no media type, such as text/plain")
		}
		if slices.Contains(tool.ImageTypes, parsed) && image.MediaType != parsed {
			return "", badUpload("media_type", "artifact.media_type", "the bytes are no such image")
		}
		return mime.FormatMediaType(parsed, params), nil
	}
	if isImage {
		return image.MediaType, nil
	}
	seen := http.DetectContentType(in.GetContent())
	if seen == "application/pdf" {
		return seen, nil
	}
	if named := mime.TypeByExtension(path.Ext(in.GetName())); named != "" && !strings.HasPrefix(named, "image/") {
		return named, nil
	}
	if utf8.Valid(in.GetContent()) && !bytes.ContainsRune(in.GetContent(), 0) {
		return "text/plain; charset=utf-8", nil
	}
	if strings.HasPrefix(seen, "image/") {
		return "application/octet-stream", nil // it begins like an image and is none
	}
	return seen, nil
}

func badUpload(field, rule, text string) error {
	f := fault.New(fault.InvalidArgument, "BAD_UPLOAD", "the file cannot be uploaded: %s: %s", field, text)
	f.Violations = []fault.Violation{{Field: field, Rule: rule, Text: text}}
	return f
}

// keep puts the bytes into the artifact store. Bytes without a resource are harmless.
func keep(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "keep bytes", Do: func(ctx context.Context, r *pipeline.Request) error {
		kept, err := d.Artifacts.Put(ctx, bytes.NewReader(r.Message.(*artifactv1.CreateArtifactRequest).GetContent()))
		if err != nil {
			return err
		}
		r.Desired.(*artifactv1.Artifact).GetSpec().Sha256 = kept.SHA256
		return nil
	}}
}

// build makes the rest of the resource.
func build(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "build state", Do: func(_ context.Context, r *pipeline.Request) error {
		m := r.Desired.(*artifactv1.Artifact)
		resource.SetIdentity(m, Kind().Kind)
		hash, err := resource.ContentHash(m)
		if err != nil {
			return fault.From(err)
		}
		m.GetMetadata().Id = id.New(resource.Meta(Kind().Kind).GetPrefix())
		m.GetMetadata().Version = &resourcev1.Version{Number: 1, ContentHash: hash}
		resource.Stamp(m.GetMetadata(), r.Caller.ID, d.Now(), true)
		return nil
	}}
}

// link makes the address from which the bytes can be fetched.
func link(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "sign address", Do: func(_ context.Context, r *pipeline.Request) error {
		m := r.Existing.(*artifactv1.Artifact)
		url, expires := d.Link(m)
		r.Answer = &artifactv1.DownloadArtifactResponse{Url: url, ExpiresAt: timestamppb.New(expires), Artifact: m}
		return nil
	}}
}
