package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Rule is the short name of a rule.
type Rule string

// The rules.
const (
	Law1   Rule = "law 1 (imports point down)"
	Law2   Rule = "law 2 (doors)"
	Law3   Rule = "law 3 (children know parents only)"
	Law4   Rule = "law 4 (heavy libraries stay in one room)"
	Rooms  Rule = "rooms"
	Driver Rule = "drivers"
	Gen    Rule = "gen imports nothing of ours"
	Front  Rule = "front doors"
	Helper Rule = "test helpers stay out of the product"
	NoInit Rule = "no init"
	Doc    Rule = "package comment"
	Sleep  Rule = "no sleep in tests"
)

// rooms reports folders that the map does not know.
func (c *checker) rooms() {
	for _, dir := range slices.Sorted(maps.Keys(c.packages)) {
		if f := c.packages[dir][0]; f.place.room == "" {
			c.report(f, 0, Rooms, "folder %s belongs to no room; give its room a floor in internal/archtest/floors.go", dir)
		}
	}
}

// imported judges one import of our own module.
func (c *checker) imported(f *file, imp imported) {
	from, to := f.place, placeOf(imp.dir)
	if from.room == "" {
		return // rooms said so
	}
	if to.room == "" {
		c.report(f, imp.line, Rooms, "imports %s, which belongs to no room; give its room a floor in internal/archtest/floors.go", imp.dir)
		return
	}
	if imp.blank && from.room != "gen" { // generated messages import options so
		c.report(f, imp.line, NoInit, "imports %s for its effects only; register it in a list that a reader can see, in internal/standard", imp.dir)
		return
	}
	testing := f.test || from.helper()
	switch {
	case from.room == "gen":
		if to.room != "gen" {
			c.report(f, imp.line, Gen, "imports %s; generated code stands below everything else, so move what it needs into the generator", imp.dir)
		}
	case to.helper() && !testing:
		c.report(f, imp.line, Helper, "imports %s, which exists for tests; move what the product needs out of it", imp.dir)
	case from.room == to.room:
		c.family(f, imp, to)
	case (from.room == "ext" || from.room == "client" || from.room == "examples") && !f.test:
		c.front(f, imp, to)
	case to.floor > from.floor:
		c.report(f, imp.line, Law1, "%s (floor %s) imports %s (floor %s); move what is shared to a lower floor, or hand it in as an argument",
			from.folder(), floorNames[from.floor], to.folder(), floorNames[to.floor])
	case to.driver() && !testing && from.floor != assembly && slimPrograms[from.room] == nil: // a slim program is its own assembly
		c.report(f, imp.line, Driver, "imports the driver %s; import the seam %s and let internal/standard choose the driver", to.folder(), to.room)
	case to.floor == from.floor && !testing && !opened(from, to):
		c.report(f, imp.line, Law2, "%s imports %s on the same floor (%s); list the door with its reason in internal/archtest/doors.go, or move what is shared down",
			from.folder(), to.folder(), floorNames[from.floor])
	}
}

// family judges an import within one room. A suite is a child like the others;
// tests may use all of them.
func (c *checker) family(f *file, imp imported, to place) {
	from := f.place
	switch {
	case from.child == to.child, to.child == "", f.test, opened(from, to):
	case from.child == "" && (to.driver() || to.noun()):
		c.report(f, imp.line, Law3, "the parent %s imports its child %s; let the child implement what the parent declares, and register it in internal/standard",
			from.room, to.folder())
	case from.child == "":
	case from.noun() && to.noun():
		c.report(f, imp.line, Law3, "the noun %s imports the noun %s; refer to it by kind and id, or move what both need to %s",
			from.child, to.child, path.Dir(from.folder()))
	default:
		c.report(f, imp.line, Law3, "%s imports its sibling %s; move what both need to %s", from.folder(), to.folder(), from.room)
	}
}

// front judges what the public doors show.
func (c *checker) front(f *file, imp imported, to place) {
	switch {
	case to.room == "gen":
	case f.place.room == "examples" && (to.room == "ext" || to.room == "client"):
	case f.place.room != "examples" && to.floor == assembly && to.room != "internal/archtest":
	case f.place.room != "examples" && to.floor == seams && to.child == "":
	default:
		allowed := "seams, the assembly and gen"
		if f.place.room == "examples" {
			allowed = "ext, client and gen"
		}
		c.report(f, imp.line, Front, "%s imports %s; it may import %s only, so offer what is missing there", f.place.folder(), imp.dir, allowed)
	}
}

// heavy judges an import of a heavy library, and of the testing package.
func (c *checker) heavy(f *file, imp imported) {
	if l := libraryOf(imp.path); l != nil && !l.home(f.dir) {
		c.report(f, imp.line, Law4, "imports %s, which is %s; only %s may, so use the seam in front of it",
			imp.path, l.name, strings.Join(l.rooms, ", "))
	}
	if (imp.path == "testing" || strings.HasPrefix(imp.path, "testing/")) && !f.test && !f.place.helper() {
		c.report(f, imp.line, Helper, "imports %s in product code; move the file to a folder whose name ends in test, or call it _test.go", imp.path)
	}
}
