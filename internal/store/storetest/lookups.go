package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// unknown is a field that no release of this program has.
var unknown = protowire.AppendString(protowire.AppendTag(nil, 40001, protowire.BytesType), "of a later release")

// agentRow is the row of an agent's message, with a field that this release does not know.
func agentRow(t *testing.T, org, slug string, a *agentv1.Agent) store.Row {
	t.Helper()
	r := row(slug, "")
	r.Org = org
	a.Metadata = &resourcev1.Metadata{Id: r.ID, Org: org, Slug: slug, Labels: a.GetMetadata().GetLabels()}
	resource.SetIdentity(a, agentKind)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	r.Data, r.Labels = append(data, unknown...), a.GetMetadata().GetLabels()
	return r
}

// lookups: rows are found by a field's path and by a label, in the order of their
// ids and page by page; their bytes are those that were stored.
func lookups(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	var core []string
	for i := range 450 { // more than a driver reads at once
		team := []string{"core", "edge", "edge"}[i%3]
		r := agentRow(t, []string{"default", "other"}[i%2], fmt.Sprintf("a%03d", i), &agentv1.Agent{
			Metadata: &resourcev1.Metadata{Labels: map[string]string{"team": team}}, Spec: &agentv1.AgentSpec{Instructions: "of " + team},
		})
		if team == "core" {
			core = append(core, r.ID)
		}
		s.must(s.Create(ctx, r, nil))
	}
	s.must(s.Create(ctx, row("noise", "bytes that are no message \xff"), nil)) // has no fields and spoils nothing
	slices.Sort(core)
	for what, find := range map[string]func(store.Span) ([]store.Row, error){
		"field": func(p store.Span) ([]store.Row, error) {
			return s.FindByField(ctx, agentKind, "spec.instructions", "of core", p)
		},
		"label in the message": func(p store.Span) ([]store.Row, error) {
			return s.FindByField(ctx, agentKind, "metadata.labels.team", "core", p)
		},
		"label": func(p store.Span) ([]store.Row, error) { return s.FindByLabel(ctx, agentKind, "team", "core", p) },
	} {
		if got := s.pages(find, store.Span{Limit: 40}); !slices.Equal(got, core) {
			t.Errorf("by %s: %d rows, want %d in the order of their ids", what, len(got), len(core))
		}
		if got := s.pages(find, store.Span{Limit: 1000, Org: "other"}); len(got) != len(core)/2 {
			t.Errorf("by %s, in one organization: %d rows, want %d", what, len(got), len(core)/2)
		}
		if _, err := find(store.Span{}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("by %s, without a limit: %v", what, err)
		}
	}
	fieldPaths(t, s)
	for _, bad := range []error{
		second(s.FindByField(ctx, 424242, "kind", "", store.Span{Limit: 1})), second(s.FindByLabel(ctx, 424242, "a", "b", store.Span{Limit: 1})),
	} {
		if fault.ReasonOf(bad) != "UNKNOWN_KIND" {
			t.Errorf("a kind that is none gave %v", bad)
		}
	}
}

// pages reads every part of a look-up.
func (f *fixture) pages(find func(store.Span) ([]store.Row, error), p store.Span) []string {
	f.t.Helper()
	var ids []string
	for {
		rows, err := find(p)
		f.must(err)
		if len(rows) > p.Limit {
			f.t.Fatalf("%d rows for a limit of %d", len(rows), p.Limit)
		}
		for _, r := range rows {
			if !bytes.HasSuffix(r.Data, unknown) {
				f.t.Fatalf("row %s lost what this release does not know", r.ID)
			}
			ids = append(ids, r.ID)
		}
		if len(rows) < p.Limit {
			return ids
		}
		p.After = rows[len(rows)-1].ID
	}
}

// fieldPaths: C125, C126, C127, C128 on stored rows.
func fieldPaths(t *testing.T, s *fixture) {
	t.Helper()
	ctx := t.Context()
	one := agentRow(t, "paths", "one", &agentv1.Agent{})
	s.must(s.Create(ctx, one, nil))
	for _, c := range []struct {
		path, value string
		found       bool
	}{
		{"apiVersion", "agentic.cadre.dev/v1", true},
		{"api_version", "agentic.cadre.dev/v1", true},
		{"metadata.slug", "one", true},
		{"metadata.slug", "", false},
		{"spec.colour", "", true},
		{"kind.sub", "", true},
		{"spec", "", true},
		{"spec.colour", "red", false},
	} {
		rows, err := s.FindByField(ctx, agentKind, c.path, c.value, store.Span{Org: "paths", Limit: 10})
		s.must(err)
		if found := len(rows) == 1; found != c.found || found && !bytes.Equal(rows[0].Data, one.Data) {
			t.Errorf("%s = %q finds %d rows, want %v with the bytes as they were stored", c.path, c.value, len(rows), c.found)
		}
	}
	if rows, err := s.FindByLabel(ctx, agentKind, "none", "", store.Span{Limit: 10}); err != nil || len(rows) != 0 {
		t.Errorf("a label that nothing has finds %v, %v", rows, err)
	}
}
