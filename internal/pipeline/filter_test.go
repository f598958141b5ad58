package pipeline_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/store"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

var executions = pipeline.Kind{Kind: resourcev1.ResourceKind_agent_execution, Index: store.ExecutionIndex}

func TestParseFilter(t *testing.T) {
	t.Parallel()
	column := func(name string) store.Column { return store.Column{Name: name} }
	for text, want := range map[string][]store.Condition{
		"":                     nil,
		"slug = reviewer":      {{Column: column("slug"), Op: store.Eq, Value: "reviewer"}},
		`metadata.slug!="a b"`: {{Column: column("slug"), Op: store.Ne, Value: "a b"}},
		`status.phase = "failed" and sessionId:ses_`: {
			{Column: store.Column{Name: "index", Index: 1}, Op: store.Eq, Value: "failed"},
			{Column: store.Column{Name: "index", Index: 0}, Op: store.Contains, Value: "ses_"},
		},
		`metadata.labels.a/b.c >= 'it\'s'`: {{Column: store.Column{Name: "label", Label: "a/b.c"}, Op: store.Ge, Value: "it's"}},
		`created_at<2026-01-01`:            {{Column: column("created_at"), Op: store.Lt, Value: "2026-01-01"}},
	} {
		got, err := pipeline.ParseFilter(executions, text)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q gave %v, %v; want %v", text, got, err, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q gave %v, want %v", text, got[i], want[i])
			}
		}
	}
}

func TestABadFilterSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"slug":                  "field operator value",
		"slug reviewer":         "field operator value",
		"slug = a slug = b":     "joined by AND",
		`slug = "a`:             "not closed",
		"slug ! a":              "operators are",
		"phse = failed":         `Did you mean "status.phase"?`,
		"spec.instructions = x": "cannot be listed by",
		"= = =":                 "field operator value",
	} {
		_, err := pipeline.ParseFilter(executions, text)
		if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want an InvalidArgument with %q", text, err, want)
		}
	}
}

func TestParseOrder(t *testing.T) {
	t.Parallel()
	got, err := pipeline.ParseOrder(executions, "phase desc, created_at, name asc")
	if err != nil || len(got) != 3 || !got[0].Desc || got[0].Column.Index != 1 || got[1].Desc || got[2].Column.Name != "name" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := pipeline.ParseOrder(executions, " "); err != nil || len(got) != 1 || got[0].Column.Name != "created_at" || !got[0].Desc {
		t.Errorf("the default is %v, %v", got, err)
	}
	for _, bad := range []string{"name down", "a b c", ",", "name desc desc"} {
		if _, err := pipeline.ParseOrder(executions, bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q gave %v", bad, err)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{`a="b" AND c!=d`, `labels.x:'y\''`, "<<=>=!", `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conditions, err := pipeline.ParseFilter(executions, text)
		if err != nil && fault.CodeOf(err) != fault.InvalidArgument {
			t.Fatalf("%q gave %v", text, err)
		}
		for _, c := range conditions {
			if !strings.Contains("= != < <= > >= :", string(c.Op)) {
				t.Fatalf("%q gave the operator %q", text, c.Op)
			}
		}
	})
}
