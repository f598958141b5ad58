package archtest

import (
	"path"
	"strings"
)

// The floors of the house. A package imports any lower floor.
const (
	contract   = -1 // generated from the .proto files; everybody may import it
	ground     = 0
	vocabulary = 1
	seams      = 2
	engines    = 3
	domain     = 4
	running    = 5
	edges      = 6
	assembly   = 7
	front      = 8 // programs and the public doors
	outside    = 9 // tests of the whole and examples
)

// floorNames are what messages call the floors.
var floorNames = map[int]string{
	contract: "the contract", ground: "0 ground", vocabulary: "1 vocabulary", seams: "2 seams",
	engines: "3 engines", domain: "4 domain", running: "5 running", edges: "6 edges",
	assembly: "7 assembly", front: "8 front", outside: "9 outside",
}

// floors says where each room lies, also of rooms that nobody has built yet. A
// room is a folder with everything below it.
var floors = map[string]int{
	"gen": contract,

	"internal/fault":     ground,
	"internal/id":        ground,
	"internal/clock":     ground,
	"internal/lifecycle": ground,
	"internal/telemetry": ground,
	"internal/config":    ground,
	"internal/glob":      ground, // which paths a pattern means
	"internal/near":      ground, // which known name a wrong one was meant to be
	"internal/netguard":  ground, // which addresses a URL of a stranger may reach
	"internal/proctree":  ground, // process trees that end whole
	"internal/failpoint": ground, // places where tests end the process
	"internal/handsbin":  ground, // the program for sandboxes, as a file
	"internal/schema":    ground, // whether a text is JSON of a given form

	"internal/resource": vocabulary,
	"internal/message":  vocabulary,
	"internal/event":    vocabulary,
	"internal/sqldb":    vocabulary, // transactions and queries over one database, whatever its driver

	"internal/identity":  seams,
	"internal/authz":     seams,
	"internal/store":     seams,
	"internal/engine":    seams,
	"internal/model":     seams,
	"internal/tool":      seams,
	"internal/workspace": seams,
	"internal/sandbox":   seams,
	"internal/wire":      seams, // the form in which a workspace's answers travel
	"internal/search":    seams,
	"internal/secret":    seams,
	"internal/artifact":  seams,
	"internal/license":   seams,

	"internal/turn":     engines,
	"internal/flow":     engines,
	"internal/eventlog": engines,
	"internal/skill":    engines,
	"internal/mcp":      engines,

	"internal/backup":    engines, // copies of a data folder, and what comes back from them
	"internal/egress":    engines, // the one way out of a sandbox
	"internal/lane":      engines, // which sandbox a run has, and what becomes of it
	"internal/agenttest": engines, // what `cadre test` reads and judges

	"internal/usage":     domain, // what model requests used, added up
	"internal/discovery": domain, // finding resources of every kind
	"internal/sandboxes": domain, // what sandboxes there are, for the operator
	"internal/pipeline":  domain,
	"internal/kind":      domain,

	"internal/control":   running,
	"internal/runner":    running,
	"internal/retention": running, // what is old is removed, in the background
	"internal/reaper":    running, // sandboxes that nobody uses are stopped, in the background
	"internal/hands":     running,

	"internal/server": edges,
	"internal/cli":    edges,

	"internal/standard": assembly,
	"internal/app":      assembly,
	"internal/archtest": assembly,

	"cmd/cadre":       front,
	"cmd/cadre-hands": front,
	"ext":             front,
	"client":          front,

	"test":     outside,
	"examples": outside,
}

// place is where a package lies.
type place struct {
	room  string // "" when the map does not know it
	floor int
	child string // the folder right below the room; "" for the room's own package
	suite bool   // its own folder's name ends in test
}

// placeOf finds the room of a folder.
func placeOf(dir string) place {
	parts := strings.Split(dir, "/")
	for n := min(2, len(parts)); n > 0; n-- {
		room := strings.Join(parts[:n], "/")
		if floor, known := floors[room]; known {
			p := place{room: room, floor: floor}
			if len(parts) > n {
				p.child, p.suite = parts[n], strings.HasSuffix(parts[len(parts)-1], "test")
			}
			return p
		}
	}
	return place{}
}

// helper tells whether the package exists for tests: a suite or a set of fakes,
// whose name ends in test, or anything under test/.
func (p place) helper() bool {
	return p.room == "test" || p.room == "internal/archtest" || p.suite || (p.child != "" && strings.HasSuffix(p.child, "test"))
}

// driver tells whether the package implements a seam.
func (p place) driver() bool {
	return p.floor == seams && p.room != "" && p.child != "" && !p.helper()
}

// noun tells whether the package is one kind of resource.
func (p place) noun() bool {
	return p.room == "internal/kind" && p.child != "" && !p.helper()
}

// folder is the place's own folder, at most one level below the room.
func (p place) folder() string { return path.Join(p.room, p.child) }
