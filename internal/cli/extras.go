package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	"github.com/cadre-dev/cadre/internal/schema"
)

// extraFlags are what run, send and chat can give beside the message.
type extraFlags struct {
	schema   string
	attach   []string
	download string
	record   string
	quiet    bool
}

func (f *extraFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.schema, "schema", "", "JSON `SCHEMA` that the answer keeps to: a file, or the JSON itself; only the answer is printed")
	cmd.Flags().StringArrayVar(&f.attach, "attach", nil, "`FILE` to show to the model, an image or text; may be repeated")
	cmd.Flags().StringVar(&f.download, "download", "", "`FOLDER` that the artifacts of the turn are written to when it ends")
	cmd.Flags().StringVar(&f.record, "record", "", "`FILE` that the traffic with the provider is recorded to, without keys, for --model replay:FILE")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print the final answer only; what happens goes to standard error")
	_ = cmd.MarkFlagFilename("attach")
	_ = cmd.MarkFlagFilename("schema", "json")
	_ = cmd.MarkFlagFilename("record", "yaml")
	_ = cmd.MarkFlagDirname("download")
}

// extras are the flags as requests have them.
type extras struct {
	schema      string
	attachments []string
	record      string
}

// given refuses flags that say nothing, or that do not go together.
func (f *extraFlags) given(cmd *cobra.Command, detach bool) error {
	for name, value := range map[string]string{"schema": f.schema, "download": f.download, "record": f.record} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && value == "" {
			return usage("--%s is empty: is a variable unset that it was to hold?", name)
		}
	}
	if detach && (f.download != "" || f.quiet) {
		return usage("--download and --quiet need the turn's end, and --detach does not wait for it; `cadre download` fetches what the turn made later")
	}
	return nil
}

// check reads what needs no server.
func (f *extraFlags) check() (extras, error) {
	var e extras
	var err error
	if e.schema, err = readSchema(f.schema); err != nil {
		return e, err
	}
	if f.record != "" {
		if e.record, err = filepath.Abs(f.record); err != nil {
			return e, err
		}
	}
	if f.download != "" {
		if info, err := os.Stat(f.download); err == nil && !info.IsDir() {
			return e, usage("--download %s is a file: name a folder", f.download)
		}
	}
	for _, path := range f.attach {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return e, usage("--attach %s: %s", path, reasonOf(err))
		case !info.Mode().IsRegular():
			return e, usage("--attach %s is no file", path)
		case info.Size() == 0:
			return e, usage("--attach %s is empty", path)
		case info.Size() > largestUpload:
			return e, usage("--attach %s has %d bytes, and at most %d can be uploaded", path, info.Size(), int64(largestUpload))
		}
	}
	return e, nil
}

// largestUpload is what the contract allows, in bytes.
const largestUpload = 16 << 20

// readSchema is a schema given as JSON, or the content of a file.
func readSchema(given string) (string, error) {
	if given == "" {
		return "", nil
	}
	text := given
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		data, err := os.ReadFile(given)
		if err != nil {
			return "", usage("--schema %s: %s", given, reasonOf(err))
		}
		text = string(data)
	}
	if _, err := schema.Parse(text); err != nil {
		return "", usage("--schema: %v", err)
	}
	return text, nil
}

// upload sends the files to attach and adds their ids.
func (f *extraFlags) upload(ctx context.Context, cl *client, org string, e *extras) error {
	for _, path := range f.attach {
		data, err := os.ReadFile(path)
		if err != nil {
			return usage("--attach %s: %s", path, reasonOf(err))
		}
		res, err := cl.artifacts.Create(ctx, connect.NewRequest(&artifactv1.CreateArtifactRequest{
			Org: org, Name: filepath.Base(path), Content: data, IdempotencyKey: keyOr(""),
		}))
		if err != nil {
			return fmt.Errorf("--attach %s: %w", path, err)
		}
		e.attachments = append(e.attachments, res.Msg.GetMetadata().GetId())
	}
	return nil
}
