package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
)

func (c *app) downloadCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use: "download ARTIFACT|EXECUTION|SESSION [FOLDER]", Short: "Write artifacts to files", Args: cobra.RangeArgs(1, 2),
		Long: `Writes an artifact, or all artifacts of a turn or a session, into a folder
(default: this one). A file that is there already is kept, and the new one gets a
number. With - as the folder one artifact goes to standard output.`,
		Example: `  cadre download art_01…
  cadre download aex_01… results
  cadre download art_01… - | less`,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 2 {
				folder = args[1]
			}
			cl, err := c.connect()
			if err != nil {
				return err
			}
			filter, err := artifactsOf(args[0])
			if err != nil {
				return err
			}
			if filter == "" {
				return c.downloadOne(cmd.Context(), cl, args[0], folder)
			}
			return c.downloadAll(cmd.Context(), cl, filter, org, folder)
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default: default)")
	return cmd
}

// artifactsOf is the filter that finds what a turn or a session made; "" for an
// artifact itself.
func artifactsOf(ref string) (string, error) {
	switch id.Prefix(ref) {
	case "art":
		return "", nil
	case "aex":
		return "execution_id = " + ref, nil
	case "ses":
		return "session_id = " + ref, nil
	}
	return "", usage("%q is no id of an artifact (art_…), a turn (aex_…) or a session (ses_…)", ref)
}

// downloadAll writes what a filter finds.
func (c *app) downloadAll(ctx context.Context, cl *client, filter, org, folder string) error {
	if folder == "-" {
		return usage("standard output takes one artifact: name it by its id (art_…)")
	}
	req := &resourcev1.ListRequest{Org: org, Filter: filter, OrderBy: "created_at", PageSize: 500}
	for n := 0; ; {
		page, err := cl.artifacts.List(ctx, connect.NewRequest(req))
		if err != nil {
			return err
		}
		for _, a := range page.Msg.GetArtifacts() {
			if err := c.downloadOne(ctx, cl, a.GetMetadata().GetId(), folder); err != nil {
				return err
			}
			n++
		}
		if req.PageToken = page.Msg.GetNextPageToken(); req.PageToken == "" {
			if n == 0 {
				c.note("no artifacts to download")
			}
			return nil
		}
	}
}

// downloadOne writes one artifact and checks its bytes.
func (c *app) downloadOne(ctx context.Context, cl *client, ref, folder string) error {
	res, err := cl.artifacts.Download(ctx, connect.NewRequest(&resourcev1.GetRequest{Ref: ref}))
	if err != nil {
		return err
	}
	body, err := cl.open(ctx, res.Msg.GetUrl())
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	defer func() { _ = body.Close() }()
	want := res.Msg.GetArtifact().GetSpec().GetSha256()
	if folder == "-" {
		return copyChecked(c.out, body, want)
	}
	name, err := writeFile(folder, fileName(res.Msg.GetArtifact()), func(w io.Writer) error { return copyChecked(w, body, want) })
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	c.note("%s (%d bytes)", name, res.Msg.GetArtifact().GetSpec().GetSize())
	return nil
}

// open reads an address that the server signed.
func (cl *client) open(ctx context.Context, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cl.url+url, nil)
	if err != nil {
		return nil, err
	}
	res, err := cl.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("the server answers %s", res.Status)
	}
	return res.Body, nil
}

// copyChecked copies what has a digest and refuses other bytes.
func copyChecked(w io.Writer, r io.Reader, want string) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), r); err != nil {
		return fmt.Errorf("it could not be read to its end: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return errors.New("what came is not what the server keeps: its digest differs; try again")
	}
	return nil
}

// fileName is what an artifact's file is called: its own name, made harmless, with
// an ending that says what it is.
func fileName(a *artifactv1.Artifact) string {
	name := strings.Map(func(r rune) rune {
		if hidden(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, a.GetMetadata().GetName())
	name = strings.Trim(name, ". ")
	if name == "" {
		name = a.GetMetadata().GetId()
	}
	if filepath.Ext(name) == "" {
		name = strings.ReplaceAll(name, " ", "-") + ending(a.GetSpec().GetMediaType())
	}
	return name
}

// ending is the usual one of a media type.
func ending(mediaType string) string {
	kind, _, _ := mime.ParseMediaType(mediaType)
	if kind == "text/plain" {
		return ".txt"
	}
	if all, _ := mime.ExtensionsByType(kind); len(all) > 0 {
		return all[0]
	}
	return ".bin"
}

// writeFile makes a new file in a folder, with a number in its name when that is
// taken. Nothing stays of a file that could not be written whole.
func writeFile(folder, name string, write func(io.Writer) error) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	ext := filepath.Ext(name)
	for n, at := 1, name; ; n++ {
		f, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			at = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
			continue
		}
		if err != nil {
			return "", err
		}
		err = errors.Join(write(f), f.Close())
		if err != nil {
			_ = root.Remove(at)
			return "", err
		}
		return filepath.Join(folder, at), nil
	}
}
