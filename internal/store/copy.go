package store

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
)

// Copied says what a copy of a database holds.
type Copied struct {
	Database  string    // its id; "" of one that no server opened since databases have ids
	Schema    int64     // its schema's version
	Newest    time.Time // when something was written last; zero when nothing was
	Artifacts []string  // digests of the artifacts that it refers to, each once, sorted
}

// ArtifactDigest reads which bytes an artifact's row names; "" when it names none.
func ArtifactDigest(data []byte) (string, error) {
	m := &artifactv1.Artifact{}
	err := proto.Unmarshal(data, m)
	return m.GetSpec().GetSha256(), err
}

// Files is what a driver offers beside a Store when it keeps its database in a data
// folder. Nothing of it needs an open Store.
type Files struct {
	Name string // of the database's file
	// Copy writes the database, as it is at one moment, to a new file, whether a server
	// works on it or not, and says what the copy holds.
	Copy func(ctx context.Context, dir, to string) (Copied, error)
	// Present says whether the folder has a database.
	Present func(dir string) bool
	// Inspect looks into the folder's database without changing it; the error says what
	// is wrong.
	Inspect func(ctx context.Context, dir string) (Inspection, error)
	// Adopt gives the folder, which no server holds, the database in the file from,
	// and moves what it had to the folder aside.
	Adopt func(ctx context.Context, dir, from, aside string) error
	// Schemas says which schema the folder's database has, 0 when there is none, and
	// which one this release makes.
	Schemas func(ctx context.Context, dir string) (has, release int64, err error)
}
