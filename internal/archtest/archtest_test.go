package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// root is the repository's folder as seen from this package.
var root = os.DirFS(filepath.Join("..", ".."))

func TestRepositoryObeys(t *testing.T) {
	t.Parallel()
	violations, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// A check of nothing passes; this one sees to it that there is something.
func TestRepositoryIsSeen(t *testing.T) {
	t.Parallel()
	files, err := parse(root)
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[f.dir] = true
	}
	for _, dir := range []string{"gen/go/rpc", "internal/archtest", "internal/store", "internal/store/sqlite"} {
		if !dirs[dir] {
			t.Errorf("%s was not read", dir)
		}
	}
	for dir := range dirs {
		if strings.Contains(dir, "testdata") || within(dir, "tools") {
			t.Errorf("%s was read", dir)
		}
	}
}

// Each archive is a small tree; its comment says with `want:` lines which
// violations it holds, each by the beginning of its message.
func TestPlantedViolations(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(archives) < 10 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			checkPlanted(t, name)
		})
	}
}

// Domain packages import the store's interface and no driver. // C105
func TestDomainKnowsNoDriver(t *testing.T) {
	t.Parallel()
	checkPlanted(t, filepath.Join("testdata", "driver.txtar"))
	files, err := parse(root)
	if err != nil {
		t.Fatal(err)
	}
	users := 0
	for _, f := range files {
		if f.test || f.place.helper() || f.place.floor < seams || f.place.floor > edges || f.place.driver() {
			continue
		}
		for _, imp := range f.imports {
			if imp.dir == "internal/store" {
				users++
			}
			if imp.ours && placeOf(imp.dir).driver() {
				t.Errorf("%s:%d imports the driver %s", f.name, imp.line, imp.dir)
			}
		}
	}
	if users == 0 {
		t.Error("no domain package imports the store; the test sees nothing")
	}
}

// checkPlanted compares the violations of one archive with those it announces.
func checkPlanted(t *testing.T, name string) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for _, f := range archive.Files {
		tree[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	var want []string
	for line := range strings.Lines(string(archive.Comment)) {
		if w, ok := strings.CutPrefix(strings.TrimSpace(line), "want: "); ok {
			want = append(want, w)
		}
	}
	violations, err := Check(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		i := slices.IndexFunc(want, func(w string) bool { return strings.HasPrefix(v.String(), w) })
		if i < 0 {
			t.Errorf("unexpected: %s", v)
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	for _, w := range want {
		t.Errorf("missing: %s", w)
	}
}

func TestEveryDoorHasAReasonAndTwoRooms(t *testing.T) {
	t.Parallel()
	for _, d := range doors {
		from, to := placeOf(d.from), placeOf(d.to)
		if from.room == "" || to.room == "" {
			t.Errorf("the door from %s to %s names an unknown room", d.from, d.to)
		}
		if from.floor != to.floor {
			t.Errorf("the door from %s to %s joins two floors; it is not needed", d.from, d.to)
		}
		if len(strings.Fields(d.reason)) < 4 {
			t.Errorf("the door from %s to %s has no reason", d.from, d.to)
		}
	}
}

func TestBrokenFilesAreAnError(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"internal/id/id.go": &fstest.MapFile{Data: []byte("package")}}
	if _, err := Check(tree); err == nil || !strings.Contains(err.Error(), "internal/id/id.go") {
		t.Errorf("got %v", err)
	}
	if _, err := Check(fs.FS(fstest.MapFS{})); err != nil {
		t.Errorf("an empty tree: %v", err)
	}
}
