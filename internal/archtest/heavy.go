package archtest

import (
	"slices"
	"strings"
)

// library is a dependency that stays where it is needed, so that the rest can
// be built, tested and replaced without it.
type library struct {
	name     string
	prefixes []string // of import paths
	rooms    []string // rooms or folders that may import it
}

// heavyLibraries is the list. Everything below a named folder may import the
// library as well.
var heavyLibraries = []library{
	{"Temporal", []string{"go.temporal.io"}, []string{"internal/engine/temporal"}},
	{"gRPC", []string{"google.golang.org/grpc"}, []string{"internal/engine/temporal"}},
	{"pgx", []string{"github.com/jackc"}, []string{"internal/store/postgres"}},
	{"SQLite", []string{"modernc.org/sqlite"}, []string{"internal/store/sqlite", "test/engine"}},                      // a test looks into the engine's file
	{"database/sql", []string{"database/sql"}, []string{"internal/store", "internal/engine/temporal", "test/engine"}}, // the engine keeps a file of its own
	{"goose", []string{"github.com/pressly/goose"}, []string{"internal/store"}},
	{"Docker", []string{"github.com/docker", "github.com/moby", "github.com/containerd"}, []string{"internal/sandbox/docker"}},
	{"client-go", []string{"k8s.io", "sigs.k8s.io"}, []string{"internal/sandbox/kubernetes"}},
	{"vanguard", []string{"connectrpc.com/vanguard"}, []string{"internal/server"}},
	{"Connect", []string{"connectrpc.com"}, []string{
		"gen", "internal/server", "internal/cli", "client", "internal/runner", "internal/hands", "internal/wire",
		"internal/workspace/remote", "cmd/cadre-hands", "test",
	}},
	{"protovalidate", []string{"buf.build/go/protovalidate"}, []string{"internal/pipeline", "internal/cli"}}, // cli checks files without a server
	{"cobra", []string{"github.com/spf13"}, []string{"internal/cli"}},
	{"the terminal UI", []string{"github.com/charmbracelet", "charm.land"}, []string{"internal/cli"}},
	{"the HTML reader", []string{"github.com/JohannesKaufmann", "golang.org/x/net/html"}, []string{"internal/tool/fetch"}},
	{"the OpenAI SDK", []string{"github.com/openai"}, []string{"internal/model/openai"}},
	{"the Anthropic SDK", []string{"github.com/anthropics"}, []string{"internal/model/anthropic"}},
	{"the Gemini SDK", []string{"google.golang.org/genai"}, []string{"internal/model/gemini"}},
	{"the MCP SDK", []string{"github.com/modelcontextprotocol"}, []string{"internal/mcp"}},
	{"OpenFGA", []string{"github.com/openfga"}, []string{"internal/authz/openfga"}},
	{"OpenTelemetry's SDK and exporters", []string{"go.opentelemetry.io/otel/exporters", "go.opentelemetry.io/otel/sdk"}, []string{"internal/telemetry"}},
}

// slimPrograms link nothing heavy but what stands beside them.
var slimPrograms = map[string][]string{
	"cmd/cadre-hands": {"Connect"},
}

// libraryOf returns the entry that covers an import path, or nil. The first
// entry that matches counts.
func libraryOf(importPath string) *library {
	for i, l := range heavyLibraries {
		for _, p := range l.prefixes {
			if importPath == p || strings.HasPrefix(importPath, p+"/") {
				return &heavyLibraries[i]
			}
		}
	}
	return nil
}

// home tells whether a folder may import the library.
func (l *library) home(dir string) bool {
	return slices.ContainsFunc(l.rooms, func(r string) bool { return within(dir, r) })
}

// within tells whether dir is the folder or lies below it.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}
