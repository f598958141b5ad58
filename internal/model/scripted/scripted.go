// Package scripted is the model provider that plays a script: a YAML file that
// says, turn by turn and step by step, what the model answers. It is for tests,
// demonstrations and measurements, and plays only when it is named.
//
// An answer is a pure function of the script and the request: the turn is the
// number of user messages in the history, the step the number of the model's
// answers since the last of them. Nothing is remembered between requests, so a
// turn that was interrupted goes on at the right step, also in another process.
// The format is described in docs/reference/scripted-model.md.
package scripted

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

const (
	largestScript = 8 << 20 // bytes
	mostKept      = 64      // parsed scripts
)

// Registration is the provider's line in the standard list.
var Registration = model.Registration{Name: "scripted", Open: func(func(string) string) (model.Provider, error) { return New(), nil }}

// Provider opens scripts. Safe for concurrent use.
type Provider struct {
	mu   sync.Mutex
	kept map[string]kept // by path
}

// kept is a parsed script, good as long as its file looks the same.
type kept struct {
	script   *script
	modified time.Time
	size     int64
}

// New makes the provider.
func New() *Provider { return &Provider{kept: map[string]kept{}} }

// Open opens the script whose file's absolute path is the id. A file that is
// missing or not valid is a fault that says where and what. The Model plays the
// file as it is now, also when it changes later.
func (p *Provider) Open(_ context.Context, id string) (model.Model, error) {
	s, err := p.load(id)
	if err != nil {
		return nil, err
	}
	if s.compaction != nil && s.compaction.remote != nil {
		return compactor{player{s}}, nil
	}
	return player{s}, nil
}

// Fingerprint is the SHA-256 of the script's file in lower-case hexadecimal.
func (p *Provider) Fingerprint(_ context.Context, id string) (string, error) {
	s, err := p.load(id)
	if err != nil {
		return "", err
	}
	return s.sum, nil
}

// load gives the parsed script, from memory when the file has not changed.
func (p *Provider) load(path string) (*script, error) {
	if !filepath.IsAbs(path) {
		return nil, fault.New(fault.InvalidArgument, "SCRIPT_PATH_NOT_ABSOLUTE",
			"the script %q is not an absolute path: write scripted:/full/path/to/script.yaml", path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fault.New(fault.InvalidArgument, "SCRIPT_INVALID", "the script %s is not a file", path)
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	if info.Size() > largestScript {
		return nil, fault.New(fault.InvalidArgument, "SCRIPT_INVALID", "the script %s has more than %d bytes", path, largestScript)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[path]; ok && k.size == info.Size() && k.modified.Equal(info.ModTime()) {
		return k.script, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	s, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	if len(p.kept) >= mostKept {
		clear(p.kept)
	}
	p.kept[path] = kept{s, info.ModTime(), info.Size()}
	return s, nil
}

func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "SCRIPT_NOT_FOUND", "there is no script %s: check the path after scripted:", path).Because(err)
	}
	return fault.New(fault.FailedPrecondition, "SCRIPT_UNREADABLE", "the script %s cannot be read", path).Because(err)
}
