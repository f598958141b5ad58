package main

// accepted are the permissive licences: they ask for the notice to be kept and
// put no condition on the rest of the program.
var accepted = map[string]bool{
	"0BSD":               true,
	"Apache-2.0":         true,
	"BSD-2-Clause":       true,
	"BSD-2-Clause-Views": true,
	"BSD-3-Clause":       true,
	"CC0-1.0":            true,
	"ISC":                true,
	"MIT":                true,
	"Unlicense":          true,
	"Zlib":               true,
}

// decisions are what a person found where the scan cannot judge: by module path
// and file for a licence file, by module path alone for a module without one.
var decisions = map[string]string{
	"github.com/cactus/go-statsd-client/statsd":        "MIT: a folder of go-statsd-client, whose licence file lies above what the module proxy packs",
	"github.com/go-sql-driver/mysql/LICENSE":           "MPL-2.0, which binds changed files of its own only; the engine's server links it unchanged and Cadre never opens it",
	"github.com/nexus-rpc/nexus-proto-annotations":     "no text in the module: one file of generated option descriptors that go.temporal.io/api (MIT, same authors) requires",
	"github.com/opencontainers/go-digest/LICENSE.docs": "CC-BY-SA-4.0, of its documentation, which is in no program; the code is Apache-2.0",
	"modernc.org/libc/LICENSE-3RD-PARTY.md":            "BSD, MIT and public-domain notices of the Go authors, musl and others, in one file of prose",
	"modernc.org/memory/LICENSE-LOGO":                  "about a picture that is in no program",
}
