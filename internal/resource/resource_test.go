package resource_test

import (
	"strings"
	"testing"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	organizationv1 "github.com/cadre-dev/cadre/gen/go/cadre/tenancy/organization/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/resource"
)

// C122
func TestStorageNamesAreTheEnumNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[resource.Kind]string{
		resourcev1.ResourceKind_agent:              "agent",
		resourcev1.ResourceKind_agent_execution:    "agent_execution",
		resourcev1.ResourceKind_execution_context:  "execution_context",
		resourcev1.ResourceKind_mcp_server:         "mcp_server",
		resourcev1.ResourceKind_organization:       "organization",
		resourcev1.ResourceKind_skill:              "skill",
		resourcev1.ResourceKind_workflow_execution: "workflow_execution",
	} {
		if got, err := resource.KindName(kind); err != nil || got != want {
			t.Errorf("kind %d is named %q (%v), want %q", kind, got, err, want)
		}
	}
}

// C123
func TestAnUnknownKindNumberNamesNumberAndEnum(t *testing.T) {
	t.Parallel()
	_, err := resource.KindName(424242)
	if err == nil || !strings.Contains(err.Error(), "424242") || !strings.Contains(err.Error(), "cadre.platform.resource.v1.ResourceKind") {
		t.Fatalf("got %v, want an error with the number and the enum's full name", err)
	}
}

func harbor(labels map[string]string) *organizationv1.Organization {
	o := &organizationv1.Organization{
		Metadata: &resourcev1.Metadata{Id: "harbor", Slug: "harbor", Labels: labels},
		Spec:     &organizationv1.OrganizationSpec{Description: "grain store"},
	}
	resource.SetIdentity(o, resourcev1.ResourceKind_organization)
	return o
}

// C124, C125, C126, C127, C128
func TestFieldValue(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"spec.description":    "grain store",            // C124
		"metadata.slug":       "harbor",                 // C124
		"apiVersion":          "tenancy.cadre.dev/v1",   // C125
		"api_version":         "tenancy.cadre.dev/v1",   // C125
		"spec.colour":         "",                       // C126
		"kind.sub":            "",                       // C127
		"spec":                "",                       // C128
		"metadata.visibility": "visibility_unspecified", // an enum is its value's name
		"metadata.labels.a.b": "dotted",                 // what follows a map is the key
		"metadata.labels.x":   "",
		"":                    "",
		"..":                  "",
	} {
		if got := resource.FieldValue(harbor(map[string]string{"a.b": "dotted"}), path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
	if got := resource.FieldValue(nil, "spec"); got != "" {
		t.Errorf("a nil message gave %q", got)
	}
}

// C129
func TestLabelValue(t *testing.T) {
	t.Parallel()
	with := harbor(map[string]string{"cadre.dev/origin": "catalogue"})
	if got := resource.LabelValue(with, "cadre.dev/origin"); got != "catalogue" {
		t.Errorf("got %q, want catalogue", got)
	}
	if got := resource.LabelValue(with, "other"); got != "" {
		t.Errorf("a missing label gave %q", got)
	}
	if got := resource.LabelValue(harbor(nil), "cadre.dev/origin"); got != "" {
		t.Errorf("no labels gave %q", got)
	}
}

// C130
func TestSnakeCase(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"sessionId": "session_id", "runnerTaskQueue": "runner_task_queue", "created_at": "created_at", "name": "name", "": "",
	} {
		if got := resource.SnakeCase(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Code Reviewer": "code-reviewer", "  --a__b-- ": "a-b", "Größe 3": "gre-3", "!!!": "", "x": "x",
		strings.Repeat("a", 80): strings.Repeat("a", 63),
	} {
		if got := resource.Slug(in); got != want || got != "" && !resource.ValidSlug(got) {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestParseRef(t *testing.T) {
	t.Parallel()
	agent := resourcev1.ResourceKind_agent
	made := id.New("agt")
	for in, want := range map[string]resource.Ref{
		"reviewer":       {Org: "default", Slug: "reviewer"},
		"acme/reviewer":  {Org: "acme", Slug: "reviewer"},
		"reviewer@3":     {Org: "default", Slug: "reviewer", Version: "3"},
		made:             {ID: made},
		made + "@latest": {ID: made, Version: "latest"},
		"agt_not-an-id":  {},
		id.New("ses"):    {},
		"a/b/c":          {},
		"Reviewer":       {},
		"":               {},
	} {
		got, err := resource.ParseRef(agent, in, "")
		if want == (resource.Ref{}) {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("%q gave %v, %v; want an InvalidArgument", in, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q gave %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestANameIsNoReferenceButItsSlugIs(t *testing.T) {
	t.Parallel()
	agent := resourcev1.ResourceKind_agent
	if _, err := resource.ParseRef(agent, "Code Reviewer@2", ""); err == nil || !strings.HasSuffix(err.Error(), ", such as code-reviewer") {
		t.Errorf("got %v", err)
	}
	if _, err := resource.ParseRef(agent, "agt_123", ""); err == nil || strings.Contains(err.Error(), "such as") {
		t.Errorf("a damaged id gave %v", err)
	}
}

func TestEveryKindDescribesItself(t *testing.T) {
	t.Parallel()
	prefixes, plurals := map[string]bool{}, map[string]bool{}
	for _, k := range resource.Kinds() {
		m := resource.Meta(k)
		if m.GetName() == "" || m.GetGroup() == "" || m.GetPlural() == "" || plurals[m.GetPlural()] || prefixes[m.GetPrefix()] {
			t.Errorf("kind %s has an incomplete or repeated description: %v", k, m)
		}
		plurals[m.GetPlural()], prefixes[m.GetPrefix()] = true, true
		for _, word := range []string{m.GetName(), m.GetPlural(), k.String()} {
			if got, ok := resource.ParseKind(word); !ok || got != k {
				t.Errorf("%q is read as %v, want %v", word, got, k)
			}
		}
	}
}

func FuzzParseRef(f *testing.F) {
	f.Add("acme/reviewer@3", "default")
	f.Add("agt_01arz3ndektsv4rrffq69g5fav", "")
	f.Fuzz(func(t *testing.T, text, org string) {
		ref, err := resource.ParseRef(resourcev1.ResourceKind_agent, text, org)
		if err == nil && ref.ID == "" && !resource.ValidSlug(ref.Slug) {
			t.Fatalf("%q gave the slug %q", text, ref.Slug)
		}
	})
}
