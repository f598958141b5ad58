package model

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
)

// Registry opens models by their full names. It opens each provider when the
// first of its models is asked for. Safe for concurrent use.
type Registry struct {
	providers map[string]*entry
	env       func(name string) string
}

// entry is one provider, opened once.
type entry struct {
	mu       sync.Mutex
	open     func(env func(name string) string) (Provider, error)
	provider Provider // nil until it was opened
}

var providerName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// NewRegistry makes a Registry of a list of providers, each of which reads its own
// variables of the environment with env. The error, about a name
// that is given twice or has not the form of one, is a mistake in the list.
func NewRegistry(list []Registration, env func(name string) string) (*Registry, error) {
	r := &Registry{providers: map[string]*entry{}, env: env}
	for _, one := range list {
		switch {
		case !providerName.MatchString(one.Name):
			return nil, fmt.Errorf("the model provider %q has no good name: lower-case letters, digits and - are allowed", one.Name)
		case r.providers[one.Name] != nil:
			return nil, fmt.Errorf("two model providers are called %s", one.Name)
		case one.Open == nil:
			return nil, fmt.Errorf("the model provider %s cannot be opened: its Open is nil", one.Name)
		}
		r.providers[one.Name] = &entry{open: one.Open}
	}
	return r, nil
}

// Names are the providers that work now, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.providers)) }

// Open opens a model by its full name, such as `scripted:/a/b.yaml`. The error is
// a fault that says what to do: ErrNoModel for an empty name, Unimplemented for
// a provider that comes later, InvalidArgument for one that nobody knows.
func (r *Registry) Open(ctx context.Context, name string) (Model, error) {
	p, id, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return p.Open(ctx, id)
}

// Fingerprint identifies the definition behind a full name, as Provider tells it.
func (r *Registry) Fingerprint(ctx context.Context, name string) (string, error) {
	p, id, err := r.find(name)
	if err != nil {
		return "", err
	}
	return p.Fingerprint(ctx, id)
}

// find gives the provider of a name, and the id it knows the model by.
func (r *Registry) find(name string) (Provider, string, error) {
	provider, id, err := ParseName(name)
	if err != nil {
		return nil, "", err
	}
	e := r.providers[provider]
	if e == nil {
		return nil, "", r.unknown(provider)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.provider == nil {
		if e.provider, err = e.open(r.env); err != nil {
			e.provider = nil
			return nil, "", err
		}
	}
	return e.provider, id, nil
}

// unknown explains why there is no provider.
func (r *Registry) unknown(provider string) error {
	var works []string
	for n := range r.providers {
		works = append(works, form(n))
	}
	if _, later := forms[provider]; later {
		return fault.New(fault.Unimplemented, "MODEL_PROVIDER_NOT_BUILT",
			"the provider %s will come, but this Cadre does not have it yet; what works now: %s", provider, near.List(works)).
			With("provider", provider)
	}
	known := slices.Concat(r.Names(), slices.Sorted(maps.Keys(forms)))
	return fault.New(fault.InvalidArgument, "MODEL_PROVIDER_UNKNOWN",
		"no model provider is called %q.%s What works now: %s", provider, near.Hint(provider, known), near.List(works)).
		With("provider", provider)
}
