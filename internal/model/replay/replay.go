// Package replay is the model provider that plays a cassette: what a host answered
// once, it answers again, read by the same provider code as then. It needs no key
// and uses no network, and is named `replay:FILE`.
//
// An answer is a pure function of the cassette and the request. Nothing is
// remembered between requests, so a turn that was interrupted goes on, also in
// another process. A request that is not in the cassette is refused with what
// differs. How requests are compared is told in docs/reference/cassettes.md.
package replay

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/cassette"
)

// provider is its name in models' names and in the history.
const provider = "replay"

// mostKept is how many cassettes stay in memory.
const mostKept = 32

// placeholder is what providers get for a key.
const placeholder = "replayed-without-a-key"

// Registration is the provider's line in the standard list; others are the
// providers whose traffic can be played.
func Registration(others []model.Registration) model.Registration {
	return model.Registration{Name: provider, Open: func(func(string) string) (model.Provider, error) { return New(others) }}
}

// Provider opens cassettes. Safe for concurrent use.
type Provider struct {
	models *model.Registry

	mu   sync.Mutex
	kept map[string]kept // by absolute path
}

// kept is a cassette that was read, good as long as its file looks the same.
type kept struct {
	reel     *reel
	modified time.Time
	size     int64
}

// New makes the provider. The error is a mistake in the list.
func New(others []model.Registration) (*Provider, error) {
	models, err := model.NewRegistry(others, variable)
	if err != nil {
		return nil, err
	}
	return &Provider{models: models, kept: map[string]kept{}}, nil
}

// variable stands for the environment: every key is set, and nothing else.
func variable(name string) string {
	if strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_TOKEN") {
		return placeholder
	}
	return ""
}

// Open opens the cassette in the file that the id names: an absolute path, or one
// below the folder that the server works in. The Model plays the file as it is now,
// also when it changes later.
func (p *Provider) Open(ctx context.Context, id string) (model.Model, error) {
	r, err := p.load(id)
	if err != nil {
		return nil, err
	}
	recorded, _, err := model.ParseName(r.cassette.Model)
	if err != nil || recorded == provider {
		return nil, fault.New(fault.InvalidArgument, "CASSETTE_INVALID",
			"the cassette %s says that it is of the model %q, which cannot be recorded", r.cassette.Path, r.cassette.Model)
	}
	inner, err := p.models.Open(ctx, r.cassette.Model)
	if err != nil {
		return nil, err
	}
	return player{reel: r, inner: inner, recorded: recorded}, nil
}

// Play answers the requests of m, a model of the named provider that uses
// model.HTTPClient, from a cassette.
func Play(c *cassette.Cassette, m model.Model, provider string) model.Model {
	return player{reel: newReel(c), inner: m, recorded: provider}
}

// Fingerprint is the SHA-256 of the cassette's file in lower-case hexadecimal.
func (p *Provider) Fingerprint(_ context.Context, id string) (string, error) {
	r, err := p.load(id)
	if err != nil {
		return "", err
	}
	return r.cassette.Sum, nil
}

// load gives the cassette, from memory when the file has not changed.
func (p *Provider) load(id string) (*reel, error) {
	path, err := filepath.Abs(id)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[path]; err == nil && ok && k.size == info.Size() && k.modified.Equal(info.ModTime()) {
		return k.reel, nil
	}
	c, loading := cassette.Load(path) // it says what is wrong with the file
	if loading != nil {
		return nil, loading
	}
	r := newReel(c)
	if err == nil {
		if len(p.kept) >= mostKept {
			clear(p.kept)
		}
		p.kept[path] = kept{r, info.ModTime(), info.Size()}
	}
	return r, nil
}

// player is one opened cassette.
type player struct {
	reel     *reel
	inner    model.Model // the recorded model's provider, whose requests go nowhere
	recorded string      // the name of that provider
}

// StandsFor is the model whose answers are played.
func (m player) StandsFor() string { return m.reel.cassette.Model }

// Ask lets the provider ask, and answers its requests from the cassette.
func (m player) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	d := newDeck(m.reel, req)
	req.History = m.own(req.History)
	return m.inner.Ask(model.WithTransport(ctx, d.instead), req)
}

// own gives the provider back what it made in earlier answers: the history says
// `replay` there, and a provider reads sealed parts only where it finds its own name.
func (m player) own(history []*messagev1.Item) []*messagev1.Item {
	all := make([]*messagev1.Item, len(history))
	for i, item := range history {
		all[i] = item
		if item.GetAssistant().GetProvider() == provider {
			all[i] = proto.CloneOf(item)
			all[i].GetAssistant().Provider = m.recorded
		}
	}
	return all
}
