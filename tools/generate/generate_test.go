package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// plant writes .proto files into a temporary folder and compiles them.
func plant(t *testing.T, files map[string]string) *sources {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	src, err := compile(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestLintNamesFileLineAndRemedy(t *testing.T) {
	t.Parallel()
	src := plant(t, map[string]string{"cadre/pets/cat/v1/cat.proto": `syntax = "proto3";
package cadre.pets.dog.v1;
import "google/api/annotations.proto";
message Cat { string Name = 1; }
enum Mood { happy = 0; }
message FeedRequest {}
message FeedResponse {}
service CatService {
  rpc Feed(FeedRequest) returns (FeedResponse);
  // Pats.
  rpc Pat(FeedRequest) returns (FeedResponse) { option (google.api.http) = {post: "/v1/pat" body: "*"}; }
}
`})
	err := lint(src)
	if err == nil {
		t.Fatal("no finding")
	}
	for _, want := range []string{
		"call it cadre.pets.cat.v1",
		"proto/cadre/pets/cat/v1/cat.proto:4: message Cat has no comment",
		"field cadre.pets.dog.v1.Cat.Name is not in snake_case",
		"enum Mood has no comment",
		"happy is the value zero; end its name with _unspecified",
		"service CatService has no comment",
		"Feed has no comment",
		"Feed has no google.api.http option",
		"Pat changes something and FeedRequest has no idempotency_key",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no finding says %q in:\n%v", want, err)
		}
	}
}

func TestGoPackageIsOursToSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "cadre", "pets", "cat", "v1")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "syntax = \"proto3\";\npackage cadre.pets.cat.v1;\noption go_package = \"x\";\n"
	if err := os.WriteFile(filepath.Join(folder, "cat.proto"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := compile(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "remove the option") {
		t.Fatalf("got %v", err)
	}
}

func TestSchemaCarriesRulesAndComments(t *testing.T) {
	t.Parallel()
	src := plant(t, map[string]string{"cadre/pets/cat/v1/cat.proto": `syntax = "proto3";
package cadre.pets.cat.v1;
import "buf/validate/validate.proto";
message Cat {
  string api_version = 1 [(buf.validate.field).string.const = "pets/v1"];
  string kind = 2;
  Metadata metadata = 3 [(buf.validate.field).required = true];
  Spec spec = 4;
}
message Metadata {}
message Spec {
  // What one
  // calls it.
  string pet_name = 1 [(buf.validate.field).string = {min_len: 2, max_len: 9, pattern: "^a"}];
  int32 legs = 2 [(buf.validate.field).int32 = {gte: 0, lte: 4}];
  repeated string toys = 3 [(buf.validate.field).repeated = {max_items: 3, unique: true}];
  int64 seen = 4;
  Spec kitten = 5;
}
message CreateRequest { Cat cat = 1; }
service CatService { rpc Create(CreateRequest) returns (Cat); }
`})
	out := output{}
	if err := schemas(src, out); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out["schema/cat.schema.json"], &got); err != nil {
		t.Fatal(err)
	}
	spec := got["$defs"].(map[string]any)["cadre.pets.cat.v1.Spec"]
	compact, _ := json.Marshal(spec)
	for _, want := range []string{
		`"petName":{"description":"What one calls it.","maxLength":9,"minLength":2,"pattern":"^a","type":"string"}`,
		`"legs":{"maximum":4,"minimum":0,"type":"integer"}`,
		`"toys":{"items":{"type":"string"},"maxItems":3,"type":"array","uniqueItems":true}`,
		`"seen":{"pattern":"^-?[0-9]+$","type":["integer","string"]}`,
		`"kitten":{"$ref":"#/$defs/cadre.pets.cat.v1.Spec"}`,
		`"required":["petName"]`,
		`"additionalProperties":false`,
	} {
		if !strings.Contains(string(compact), want) {
			t.Errorf("no %s in %s", want, compact)
		}
	}
	if required, _ := json.Marshal(got["required"]); string(required) != `["apiVersion","metadata"]` {
		t.Errorf("required: %s", required)
	}
}

func TestWriteRemovesWhatIsNoLongerMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := output{"go/a/a.go": []byte("a"), "schema/s.json": []byte("s")}
	if err := first.write(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (output{"schema/s.json": []byte("s2")}).write(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
		if rel, _ := filepath.Rel(dir, p); rel != "." {
			left = append(left, filepath.ToSlash(rel))
		}
		return nil
	})
	if want := []string{"README.md", "schema", "schema/s.json"}; !slices.Equal(left, want) {
		t.Errorf("got %q, want %q", left, want)
	}
}

// The committed document refers to nothing that it does not hold.
func TestOpenAPIReferencesResolve(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "openapi", "cadre.openapi.yaml"))
	if err != nil {
		t.Skip("nothing generated yet: ", err)
	}
	var doc struct {
		Components map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$ref: '#/components/([^/']+)/([^']+)'`).FindAllStringSubmatch(string(text), -1) {
		seen[m[1]+"/"+m[2]] = true
		if _, ok := doc.Components[m[1]][m[2]]; !ok {
			t.Errorf("%s is referred to and missing", m[0])
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d references: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}
