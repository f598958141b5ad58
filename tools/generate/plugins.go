package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// The plugins, pinned by this module's go.mod.
const (
	pluginGo      = "google.golang.org/protobuf/cmd/protoc-gen-go"
	pluginConnect = "connectrpc.com/connect/cmd/protoc-gen-connect-go"
	pluginOpenAPI = "github.com/sudorandom/protoc-gen-connect-openapi"
)

// plugins is a temporary folder with the built plugins.
type plugins struct {
	dir string
}

// buildPlugins builds the pinned plugins of the module in toolsDir. The caller
// calls remove when done with them.
func buildPlugins(ctx context.Context, toolsDir string) (*plugins, error) {
	dir, err := os.MkdirTemp("", "cadre-generate-")
	if err != nil {
		return nil, err
	}
	p := &plugins{dir: dir}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), pluginGo, pluginConnect, pluginOpenAPI)
	build.Dir = toolsDir
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		p.remove()
		return nil, fmt.Errorf("build the plugins: %w\n%s", err, text)
	}
	return p, nil
}

// remove deletes the temporary folder.
func (p *plugins) remove() { _ = os.RemoveAll(p.dir) }

func (p *plugins) goMessages(ctx context.Context, src *sources, out output) error {
	return p.into(ctx, pluginGo, src, "module="+goRoot, "go/", out)
}

func (p *plugins) connect(ctx context.Context, src *sources, out output) error {
	return p.into(ctx, pluginConnect, src, "module="+goRoot, "go/", out)
}

// into runs a plugin and puts its files below prefix.
func (p *plugins) into(ctx context.Context, plugin string, src *sources, param, prefix string, out output) error {
	files, err := p.run(ctx, plugin, src, param)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := out.put(prefix+f.GetName(), []byte(f.GetContent())); err != nil {
			return err
		}
	}
	return nil
}

// run speaks the plugin protocol with one plugin over our own files.
func (p *plugins) run(ctx context.Context, plugin string, src *sources, param string) ([]*pluginpb.CodeGeneratorResponse_File, error) {
	req := &pluginpb.CodeGeneratorRequest{ProtoFile: src.all}
	if param != "" {
		req.Parameter = proto.String(param)
	}
	for _, f := range src.own {
		req.FileToGenerate = append(req.FileToGenerate, f.Path())
	}
	in, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, err
	}
	name := plugin[strings.LastIndex(plugin, "/")+1:]
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, name))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, stderr.String())
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(stdout.Bytes(), &resp); err != nil {
		return nil, fmt.Errorf("%s: its answer is not a CodeGeneratorResponse: %w", name, err)
	}
	if resp.Error != nil {
		return nil, errors.New(name + ": " + resp.GetError())
	}
	return resp.File, nil
}
