package applypatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// mostProblems that one answer tells in full.
const mostProblems = 6

// job prepares the changes of one call.
type job struct {
	ws       workspace.Workspace
	call     tool.Call
	done     func(path string) bool
	result   tool.Result
	all      []*tool.Mutation
	problems []string
}

// names refuses a file that the patch names twice, also under two spellings.
func (j *job) names(files []*file) *problem {
	seen := map[string]int{}
	for _, f := range files {
		for _, path := range []string{f.path, f.to} {
			if path == "" {
				continue
			}
			rel := tool.Rel(j.ws, path)
			if line, twice := seen[rel]; twice {
				return wrong(f.line, "%s is named a second time, after line %d: put all hunks of a file under one name.", path, line)
			}
			seen[rel] = f.line
		}
	}
	return nil
}

// wrong notes what the model must mend.
func (j *job) wrong(format string, args ...any) {
	switch n := len(j.problems); {
	case n < mostProblems:
		j.problems = append(j.problems, fmt.Sprintf(format, args...))
	case n == mostProblems:
		j.problems = append(j.problems, "There is more that does not fit.")
	}
}

// refused notes what the workspace refuses, and gives other errors back.
func (j *job) refused(ctx context.Context, f *file, path string, err error) error {
	r, err := tool.Refused(ctx, j.ws, path, err)
	if err == nil {
		j.wrong("Line %d of the patch: %s", f.line, r.Text)
	}
	return err
}

// change adds one mutation.
func (j *job) change(c tool.Change) {
	c.Result = j.result
	j.all = append(j.all, tool.NewMutation(j.ws, j.call, c))
}

// made tells whether this call changed a file before a crash.
func (j *job) made(path string) bool { return j.done(tool.Rel(j.ws, path)) }

// file prepares what the patch says about one file.
func (j *job) file(ctx context.Context, f *file) error {
	switch {
	case f.kind == adding:
		return j.add(ctx, f)
	case f.kind == removing:
		return j.remove(ctx, f)
	case f.to != "":
		return j.move(ctx, f)
	}
	if j.made(f.path) {
		return nil
	}
	before, after, err := j.rewritten(ctx, f)
	if err != nil || before == nil {
		return err
	}
	if after == string(before) {
		j.wrong("Line %d of the patch: %s stays as it is; leave it out.", f.line, f.path)
		return nil
	}
	j.change(tool.Change{Path: f.path, Before: workspace.Sum(before), Data: []byte(after)})
	return nil
}

// add prepares a new file.
func (j *job) add(ctx context.Context, f *file) error {
	if j.made(f.path) {
		return nil
	}
	if free, err := j.free(ctx, f, f.path); !free || err != nil {
		return err
	}
	text, misfits := rewrite("", f.hunks)
	j.misfits(f, misfits)
	j.change(tool.Change{Path: f.path, Before: workspace.Absent, Data: []byte(text)})
	return nil
}

// free tells whether nothing has this name.
func (j *job) free(ctx context.Context, f *file, path string) (bool, error) {
	now, err := j.ws.Digest(ctx, path)
	if err != nil {
		return false, j.refused(ctx, f, path, err)
	}
	if now != workspace.Absent {
		j.wrong("Line %d of the patch: %s exists already. To change it, update it; to write it anew use `write`.", f.line, path)
	}
	return now == workspace.Absent, nil
}

// remove prepares the end of a file. Hunks, where there are any, must take all of it.
func (j *job) remove(ctx context.Context, f *file) error {
	if j.made(f.path) {
		return nil
	}
	if len(f.hunks) > 0 {
		before, after, err := j.rewritten(ctx, f)
		if err != nil || before == nil {
			return err
		}
		if after != "" {
			j.wrong("Line %d of the patch: it removes %s, but its hunks leave lines there. Read the file, or remove it with `%s%s`.", f.line, f.path, deleteFile, f.path)
			return nil
		}
		j.change(tool.Change{Path: f.path, Before: workspace.Sum(before), Remove: true})
		return nil
	}
	now, err := j.ws.Digest(ctx, f.path)
	if err == nil && now == workspace.Absent {
		_, err = j.ws.Stat(ctx, f.path)
		if err == nil {
			err = workspace.ErrNotFound.Saying("%s is a link to nothing", f.path)
		}
	}
	if err != nil {
		return j.refused(ctx, f, f.path, err)
	}
	j.change(tool.Change{Path: f.path, Before: now, Remove: true})
	return nil
}

// move prepares a file's new place and, after that, the end of its old one.
func (j *job) move(ctx context.Context, f *file) error {
	if j.made(f.path) && j.made(f.to) {
		return nil
	}
	if j.made(f.to) {
		now, err := j.ws.Digest(ctx, f.path)
		if err != nil {
			return j.refused(ctx, f, f.path, err)
		}
		j.change(tool.Change{Path: f.path, Before: now, Remove: true})
		return nil
	}
	if free, err := j.free(ctx, f, f.to); !free || err != nil {
		return err
	}
	before, after, err := j.rewritten(ctx, f)
	if err != nil || before == nil {
		return err
	}
	j.change(tool.Change{Path: f.to, Before: workspace.Absent, Data: []byte(after)})
	j.change(tool.Change{Path: f.path, Before: workspace.Sum(before), Remove: true})
	return nil
}

// rewritten reads a file and gives it with the hunks. A nil before says that it is told
// already why that cannot be.
func (j *job) rewritten(ctx context.Context, f *file) (before []byte, after string, err error) {
	before, err = j.ws.Read(ctx, f.path, tool.LargestFile)
	switch {
	case errors.Is(err, workspace.ErrIsFolder):
		j.wrong("Line %d of the patch: %s is a folder.", f.line, f.path)
		return nil, "", nil
	case err != nil:
		return nil, "", j.refused(ctx, f, f.path, err)
	case tool.IsBinary(before) && len(f.hunks) > 0:
		j.wrong("Line %d of the patch: %s is a binary file; only text can be patched.", f.line, f.path)
		return nil, "", nil
	}
	after, misfits := rewrite(string(before), f.hunks)
	if len(misfits) > 0 {
		j.misfits(f, misfits)
		return nil, "", nil
	}
	if len(after) > tool.LargestFile {
		j.wrong("Line %d of the patch: %s would have %d bytes, more than %d.", f.line, f.path, len(after), tool.LargestFile)
		return nil, "", nil
	}
	if before == nil {
		before = []byte{}
	}
	return before, after, nil
}

func (j *job) misfits(f *file, all []misfit) {
	for _, m := range all {
		j.wrong("%s, hunk %d (line %d of the patch): %s", f.path, m.hunk.number, m.hunk.line, m.why)
	}
}
