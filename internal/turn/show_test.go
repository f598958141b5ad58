package turn_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/turn"
)

type (
	ctxType = context.Context
	parts   = iter.Seq2[model.Part, error]
	player  = func(ctx context.Context, req model.Request) iter.Seq2[model.Part, error]
)

// noting keeps the requests that a play gets.
func noting(all *[]model.Request, p player) player {
	return func(ctx context.Context, req model.Request) parts {
		kept := req
		kept.History = nil
		for _, item := range req.History {
			kept.History = append(kept.History, proto.Clone(item).(*messagev1.Item))
		}
		*all = append(*all, kept)
		return p(ctx, req)
	}
}

func failing(err error) parts {
	return func(yield func(model.Part, error) bool) { yield(model.Part{}, err) }
}

// stopped runs an attempt whose server stops where the play says so.
func stopped(t *testing.T, w *world, c store.Claimed) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	play := w.play
	w.play = func(inner context.Context, req model.Request) parts {
		return func(yield func(model.Part, error) bool) {
			for p, err := range play(inner, req) {
				if err != nil {
					stop(err)
				}
				if !yield(p, err) {
					return
				}
			}
		}
	}
	if err := turn.Run(ctx, w, c, turn.Options{}); err != nil {
		t.Fatal(err)
	}
	w.play = play
}

// attach keeps a file and names it as an attachment.
func (w *world) attach(name, mediaType, content string) {
	w.t.Helper()
	kept, err := w.artifacts.Put(w.t.Context(), strings.NewReader(content))
	if err != nil {
		w.t.Fatal(err)
	}
	w.attached = append(w.attached, &messagev1.Attachment{ArtifactId: "art_" + name, Name: name, MediaType: mediaType, Sha256: kept.SHA256, Size: kept.Size})
}

func TestAttachmentsReachTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attach("notes.txt", "text/plain; charset=utf-8", "remember the milk")
	w.attach("shot.png", "image/png", "PNG bytes")
	w.attached = append(w.attached, &messagev1.Attachment{ArtifactId: "art_gone", Name: "gone.png", MediaType: "image/png", Sha256: strings.Repeat("0", 64), Size: 5})
	var asked []model.Request
	w.play = noting(&asked, replies([]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(1, 1)}, []model.Part{text("done"), end(1, 1)}))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := asked[0].History[0].GetUser()
	if want := "go on\n\nThe attached file notes.txt:\n\nremember the milk"; first.GetText() != want {
		t.Errorf("the message is %q, want %q", first.GetText(), want)
	}
	if len(first.GetAttachments()) != 2 || string(asked[0].Files["art_shot.png"]) != "PNG bytes" || len(asked[0].Files) != 1 {
		t.Errorf("the images are %v with the bytes of %d", first.GetAttachments(), len(asked[0].Files))
	}
	if !proto.Equal(asked[1].History[0], asked[0].History[0]) {
		t.Error("the second request begins otherwise than the first")
	}
	if len(asked[1].Files) != 1 {
		t.Errorf("the second request has %d images", len(asked[1].Files))
	}
}

func TestAModelWithoutEyesIsSentNoImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.blind = true
	w.attach("shot.png", "image/png", "PNG bytes")
	var asked []model.Request
	w.play = noting(&asked, replies([]model.Part{text("done"), end(1, 1)}))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked[0].Files) != 0 || len(asked[0].History[0].GetUser().GetAttachments()) != 1 {
		t.Errorf("the request has %d images for %v", len(asked[0].Files), asked[0].History[0])
	}
}

// camera is a tool that gives an image.
type camera struct{ tool.Tool }

func (camera) Spec() tool.Spec {
	return tool.Spec{Name: "camera", Schema: []byte(`{"type":"object"}`), Class: tool.ReadOnly}
}

func (camera) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	return tool.Result{Text: "a picture", Files: []tool.File{{Name: "now.png", MediaType: "image/png", Data: []byte("pixels")}}}, nil
}

func TestAToolsImageReachesTheModelAndIsAnArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tools["camera"] = camera{}
	var asked []model.Request
	w.play = noting(&asked, replies([]model.Part{call("c1", "camera", `{}`), end(1, 1)}, []model.Part{text("done"), end(1, 1)}))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	created, result := w.last("artifact.created").GetArtifactCreated(), w.last("agent.tool.completed").GetAgentToolCompleted()
	if created.GetName() != "now.png" || created.GetMediaType() != "image/png" || created.GetSize() != 6 {
		t.Errorf("the artifact is %v", created)
	}
	if len(result.GetAttachments()) != 1 || result.GetAttachments()[0].GetArtifactId() != created.GetArtifactId() {
		t.Errorf("the event shows %v", result.GetAttachments())
	}
	h := asked[1].History
	if a := h[len(h)-1].GetToolResult().GetAttachments(); len(a) != 1 || string(asked[1].Files[a[0].GetArtifactId()]) != "pixels" {
		t.Errorf("the model is shown %v", a)
	}
}

func TestEachRequestIsBookedWithItsCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = replies([]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(10, 1)}, []model.Part{text("done"), end(20, 2)})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.status().GetUsage().GetCostNanoUsd(); got != 30 {
		t.Errorf("the execution cost %d, want 30", got)
	}
	if got := w.last("turn.completed").GetTurnCompleted().GetUsage().GetCostNanoUsd(); got != 30 {
		t.Errorf("the event says %d, want 30", got)
	}
	sums, err := w.store.Usage(t.Context(), store.UsageQuery{By: store.UsageByExecution, Limit: 1})
	if err != nil || len(sums.Groups) != 1 || sums.Groups[0].Usage.GetCostNanoUsd() != 30 || sums.Groups[0].Calls != 2 {
		t.Errorf("the ledger says %+v, %v", sums, err)
	}
}

// What is held for a request covers the tools that go with it: their descriptions are
// most of a short request.
func TestTheHoldCoversTheTools(t *testing.T) {
	t.Parallel()
	bare, tooled := newWorld(t), newWorld(t)
	bare.tools = map[string]tool.Tool{}
	var held [2]int64
	for i, w := range []*world{bare, tooled} {
		w.play = func(_ context.Context, req model.Request) parts {
			req.Sent()
			return failing(&model.Error{Category: model.Malformed})
		}
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		held[i] = w.status().GetUsage().GetInputTokens()
	}
	var specs int
	for _, one := range tooled.tools {
		specs += len(one.Spec().Description) + len(one.Spec().Schema)
	}
	if held[0] == 0 || held[1]-held[0] < int64(specs) {
		t.Errorf("%d tokens are held with tools and %d without: the tools have %d bytes", held[1], held[0], specs)
	}
}
