package archtest

// door lets one room import another one of its floor.
type door struct {
	from, to string // rooms, or folders right below one
	reason   string
}

// doors are all meetings of two rooms on one floor, and of two folders of one
// room. A door opens in one direction; what it names may be a whole room.
var doors = []door{
	{"internal/config", "internal/fault", "a setting that is wrong is a fault: its reader needs the code and what to do"},
	{"internal/handsbin", "internal/fault", "a program that is missing is a fault: its reader needs the code and how to build it"},
	{"internal/schema", "internal/fault", "a schema that cannot be used is a fault: the caller needs the code and what is wrong"},
	{"internal/schema", "internal/near", "a wrong type is told with the one that was meant"},
	{"internal/authz", "internal/identity", "a decision is about a caller, and identity says who that is"},
	{"internal/tool", "internal/workspace", "a tool reads and writes through the workspace it is given"},
	{"internal/wire", "internal/workspace", "it is a workspace's types that travel"},
	{"internal/workspace/remote", "internal/wire", "it asks in the form that the program inside reads"},
	{"internal/sandbox", "internal/identity", "a sandbox is made for a caller of a class, and identity has the word"},
	{"internal/store/sqlite", "internal/store/relational", "the contract's transactions are written once in SQL; the driver brings the database"},
	{"internal/store/postgres", "internal/store/relational", "the contract's transactions are written once in SQL; the driver brings the database"},
	{"internal/search/fts5", "internal/search/relational", "the table of documents and the ranking are the same in every database"},
	{"internal/search/postings", "internal/search/relational", "the table of documents and the ranking are the same in every database"},
	{"internal/model/replay", "internal/model/cassette", "it plays what a cassette holds"},
	{"internal/model/modeltest", "internal/model/cassette", "each provider's wire is recorded"},
	{"internal/model/modeltest", "internal/model/replay", "each provider's recording is played"},
	{"internal/kind", "internal/pipeline", "a noun says in the pipeline's steps how its verbs are answered"},
	{"internal/usage", "internal/pipeline", "it answers by the pipeline's steps, as nouns do, and is none"},
	{"internal/discovery", "internal/pipeline", "it answers by the pipeline's steps, as nouns do, and is none"},
	{"internal/sandboxes", "internal/pipeline", "it answers by the pipeline's steps, as nouns do, and is none"},
	{"internal/app", "internal/standard", "the roles are put together from the lists"},
}

// opened tells whether a door leads from one place to another.
func opened(from, to place) bool {
	for _, d := range doors {
		if (d.from == from.room || d.from == from.folder()) && (d.to == to.room || d.to == to.folder()) {
			return true
		}
	}
	return false
}
