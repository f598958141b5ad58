package session

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/schema"
	"github.com/cadre-dev/cadre/internal/tool"
)

// The largest attachments, in bytes. Providers take no larger images.
const (
	largestImage = 5 << 20
	largestText  = 512 << 10
)

// asked is what an input asks for, whichever verb brings it.
type asked struct {
	message string
	model   string
	effort  string
	approve agentexecutionv1.ApprovalMode
	schema  string
	record  string
	files   []string // ids of artifacts
}

// wish is what RunAgent's and SendMessage's requests have in common.
type wish interface {
	GetMessage() string
	GetModel() string
	GetEffort() string
	GetApprove() agentexecutionv1.ApprovalMode
	GetOutputSchema() string
	GetRecord() string
	GetAttachments() []string
}

func askedOf(in wish) asked {
	return asked{
		message: in.GetMessage(), model: in.GetModel(), effort: in.GetEffort(), approve: in.GetApprove(),
		schema: in.GetOutputSchema(), record: in.GetRecord(), files: in.GetAttachments(),
	}
}

// checkOutput refuses a schema that no answer could be judged by.
func checkOutput() pipeline.Step {
	return pipeline.Step{Name: "check schema", Do: func(_ context.Context, r *pipeline.Request) error {
		text := stateOf(r).schema
		if text == "" {
			return nil
		}
		if _, err := schema.Parse(text); err != nil {
			f := fault.From(err)
			f.Violations = []fault.Violation{{Field: "output_schema", Rule: "output.schema", Text: f.Message}}
			return f
		}
		return nil
	}}
}

// checkRecord refuses a recording that could not be made.
func checkRecord() pipeline.Step {
	return pipeline.Step{Name: "check recording", Do: func(_ context.Context, r *pipeline.Request) error {
		if path := stateOf(r).record; path != "" && !filepath.IsAbs(path) {
			f := fault.New(fault.InvalidArgument, "BAD_RECORDING", "the recording %q cannot be made: give an absolute path on the server's machine", path)
			f.Violations = []fault.Violation{{Field: "record", Rule: "record.absolute", Text: "give an absolute path"}}
			return f
		}
		return nil
	}}
}

// resolveAttachments finds the files of an input and refuses what a model cannot be
// shown. With a recording it also refuses a model that asks nobody.
func resolveAttachments(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "resolve attachments", Do: func(ctx context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		if provider, _, _ := model.ParseName(s.model); s.record != "" && (provider == "scripted" || provider == "replay") {
			return fault.New(fault.InvalidArgument, "NOTHING_TO_RECORD", "the model %s asks no provider, so there is no traffic to record: name another model", s.model)
		}
		for i, ref := range s.files {
			a, err := attachment(ctx, d, ref, r.Org)
			if err != nil {
				f := fault.From(err)
				f.Violations = []fault.Violation{{Field: "attachments[" + strconv.Itoa(i) + "]", Rule: "attachment", Text: f.Message}}
				return f
			}
			s.attached = append(s.attached, a)
		}
		return nil
	}}
}

// attachment is an artifact as a message names it.
func attachment(ctx context.Context, d pipeline.Deps, ref, org string) (*messagev1.Attachment, error) {
	kind := resourcev1.ResourceKind_artifact
	row, err := d.Store.Get(ctx, kind, ref)
	if err != nil {
		return nil, err
	}
	if row.Org != org {
		return nil, resource.NotFound(kind, ref)
	}
	m := &artifactv1.Artifact{}
	if err := proto.Unmarshal(row.Data, m); err != nil {
		return nil, fault.From(err)
	}
	a := &messagev1.Attachment{
		ArtifactId: row.ID, Name: m.GetMetadata().GetName(), MediaType: m.GetSpec().GetMediaType(), Sha256: m.GetSpec().GetSha256(), Size: m.GetSpec().GetSize(),
	}
	return a, showable(ctx, d, a)
}

// showable refuses a file that is neither an image that models see nor text.
func showable(ctx context.Context, d pipeline.Deps, a *messagev1.Attachment) error {
	image := slices.Contains(tool.ImageTypes, a.GetMediaType())
	most := int64(largestText)
	if image {
		most = largestImage
	}
	if a.GetSize() > most {
		return cannotShow(a, "it has %d bytes, and %d are allowed", a.GetSize(), most)
	}
	if image {
		return nil
	}
	if noText(a.GetMediaType()) {
		return cannotShow(a, "it is %s, and "+shown, a.GetMediaType())
	}
	in, err := d.Artifacts.Open(ctx, a.GetSha256())
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if !utf8.Valid(data) || tool.IsBinary(data) {
		return cannotShow(a, "it is %s and no text, and "+shown, a.GetMediaType())
	}
	return nil
}

// shown ends the reason why a file is refused.
const shown = "models are shown images (PNG, JPEG, GIF, WebP) and UTF-8 text"

// noText tells the media types whose bytes mean nothing as text, even where they
// could be read as such.
func noText(mediaType string) bool {
	return mediaType == "application/pdf" || strings.HasPrefix(mediaType, "audio/") || strings.HasPrefix(mediaType, "video/") ||
		strings.HasPrefix(mediaType, "font/") || strings.HasPrefix(mediaType, "image/") && mediaType != "image/svg+xml"
}

func cannotShow(a *messagev1.Attachment, format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "ATTACHMENT_UNSUPPORTED", "the file "+strconv.Quote(a.GetName())+" cannot be attached: "+format+
		"; put it into the workspace instead, where tools can read it", args...)
}
