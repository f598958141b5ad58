package turn

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// attachedFolder is where the files lie in a sandbox that came with messages, each in a
// folder of its artifact.
const attachedFolder = "attachments"

// largestBrought is more than any attachment has, in bytes.
const largestBrought = 32 << 20

// bring puts the files that came with the turn's message into the sandbox, once in an
// attempt. One that cannot be brought does not end the turn: the model is told with the
// next result of a tool.
func (t *turn) bring(ctx context.Context) error {
	if t.brought || !t.claim.Policy.GetSandbox() {
		return nil
	}
	t.brought = true
	for _, a := range t.attached() {
		err := t.bringOne(ctx, a)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			t.fx.Log().WarnContext(ctx, "an attached file is not in the sandbox", "execution", t.claim.Execution, "artifact", a.GetArtifactId(), "error", err)
			t.notes = append(t.notes, fmt.Sprintf("[The attached file %s could not be put into the sandbox: %s. Work with what the message shows of it, or ask for it.]", a.GetName(), told(err)))
		}
	}
	return nil
}

// attached are the files of the message that the turn answers.
func (t *turn) attached() []*messagev1.Attachment {
	for i := len(t.history) - 1; i >= 0; i-- {
		if user := t.history[i].GetUser(); user != nil {
			return user.GetAttachments()
		}
	}
	return nil
}

// attachedPath is where a file lies inside.
func attachedPath(a *messagev1.Attachment) string {
	name := path.Base(path.Clean("/" + a.GetName()))
	if name == "/" {
		name = "file"
	}
	return path.Join(attachedFolder, path.Base(a.GetArtifactId()), name)
}

// bringOne writes a file unless something lies there already, and looks whether it is found.
func (t *turn) bringOne(ctx context.Context, a *messagev1.Attachment) error {
	to := attachedPath(a)
	if now, err := t.folder.Digest(ctx, to); err != nil || now != workspace.Absent {
		return err // an earlier attempt brought it, and the agent may have changed it since
	}
	data, err := t.content(ctx, a, largestBrought)
	if err != nil {
		return err
	}
	if data == nil {
		return fault.New(fault.NotFound, "ATTACHMENT_GONE", "its content is gone")
	}
	err = t.folder.Replace(ctx, workspace.Replacement{Path: to, Data: data, Before: workspace.Absent, Token: a.GetArtifactId()})
	if err != nil && !errors.Is(err, workspace.ErrChanged) {
		return err
	}
	now, err := t.folder.Digest(ctx, to)
	switch {
	case err != nil:
		return err
	case now == workspace.Absent:
		return &workspace.NotVisible{Reason: "absent", Path: to, Workdir: t.folder.Name(), Exit: 1}
	case now != a.GetSha256():
		return &workspace.NotVisible{Reason: "different", Path: to, Workdir: t.folder.Name()}
	}
	return nil
}

// told is an error for the model: a fault's cause is for the log.
func told(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return strings.TrimRight(f.Message, ".")
	}
	return err.Error()
}

// noted adds to a result what the model has to know of the sandbox, once.
func (t *turn) noted(text string) string {
	all := append([]string{text}, t.notes...)
	t.notes = nil
	return strings.Join(all, "\n\n")
}
