package remote

import (
	"context"
	"errors"
	"iter"

	"connectrpc.com/connect"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/internal/wire"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Folder is the workspace of a sandbox.
type Folder struct {
	link *Link
	root string
}

var _ workspace.Workspace = (*Folder)(nil)

// Open waits for the program inside and opens its workspace.
func (k *Link) Open(ctx context.Context) (workspace.Workspace, error) {
	hello, err := k.Hello(ctx)
	if err != nil {
		return nil, err
	}
	return &Folder{link: k, root: hello.GetRoot()}, nil
}

// Name is the folder's path inside the sandbox.
func (f *Folder) Name() string { return f.root }

// Close does nothing: the link stays, and so do processes.
func (f *Folder) Close() error { return nil }

// Read gives a file's content.
func (f *Folder) Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	res, err := ask(ctx, f.link, f.link.client.Read, &handsv1.ReadRequest{Path: path, Limit: limit})
	return res.GetData(), err
}

// Stat describes an entry.
func (f *Folder) Stat(ctx context.Context, path string) (workspace.Info, error) {
	res, err := ask(ctx, f.link, f.link.client.Stat, &handsv1.StatRequest{Path: path})
	return wire.ReadInfo(res.GetInfo()), err
}

// List gives a folder's entries.
func (f *Folder) List(ctx context.Context, path string) ([]workspace.Info, error) {
	res, err := ask(ctx, f.link, f.link.client.List, &handsv1.ListRequest{Path: path})
	var all []workspace.Info
	for _, e := range res.GetEntries() {
		all = append(all, wire.ReadInfo(e))
	}
	return all, err
}

// Digest is the SHA-256 of a file's content.
func (f *Folder) Digest(ctx context.Context, path string) (string, error) {
	res, err := ask(ctx, f.link, f.link.client.Digest, &handsv1.DigestRequest{Path: path})
	return res.GetDigest(), err
}

// Tidy removes what an interrupted Replace left.
func (f *Folder) Tidy(ctx context.Context, path, token string) error {
	_, err := ask(ctx, f.link, f.link.client.Tidy, &handsv1.TidyRequest{Path: path, Token: token})
	return err
}

// Walk gives all entries below a path. A connection that breaks in the middle ends it.
func (f *Folder) Walk(ctx context.Context, path string) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := f.walk(ctx, path, func(i workspace.Info) bool { return yield(i, nil) }); err != nil {
			yield(workspace.Info{}, err)
		}
	}
}

func (f *Folder) walk(ctx context.Context, path string, visit func(workspace.Info) bool) error {
	if err := f.link.ready(ctx); err != nil {
		return err
	}
	stream, err := f.link.client.Walk(ctx, connect.NewRequest(&handsv1.WalkRequest{Path: path}))
	if err != nil {
		return failed(ctx, err)
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		for _, e := range stream.Msg().GetEntries() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !visit(wire.ReadInfo(e)) {
				return nil
			}
		}
	}
	return failed(ctx, stream.Err())
}

// failed is a call's error as the seam knows it.
func failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p := wire.Problem(err); p != nil {
		return p
	}
	return broken(err)
}

// Replace writes a file whole, once: when the connection broke, the file is looked at
// before anything is sent again.
func (f *Folder) Replace(ctx context.Context, r workspace.Replacement) error {
	q := &handsv1.ReplaceRequest{Path: r.Path, Data: r.Data, Before: r.Before, Remove: r.Remove, Token: r.Token}
	want := workspace.Absent
	if !r.Remove {
		want = workspace.Sum(r.Data)
	}
	var err error
	for n := range again {
		if err = f.link.ready(ctx); err != nil {
			return err
		}
		if n > 0 {
			if now, derr := f.Digest(ctx, r.Path); derr == nil && now == want {
				return nil
			}
		}
		if _, err = f.link.client.Replace(ctx, connect.NewRequest(q)); err == nil {
			return nil
		}
		if wire.Problem(err) != nil || ctx.Err() != nil {
			return failed(ctx, err)
		}
	}
	return broken(err)
}

// notSent tells whether an error proves that nothing left.
func notSent(err error) bool {
	var gone *errAway
	return errors.As(err, &gone)
}
