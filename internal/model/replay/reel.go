package replay

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/cadre-dev/cadre/internal/model/cassette"
)

// reel is a cassette that is ready to be searched. It is never changed.
type reel struct {
	cassette *cassette.Cassette
	entries  []entry // one for each exchange, in order
}

// entry is a recorded request in the form in which requests are compared.
type entry struct {
	where string // method, and the end of the path with its query
	body  []byte // without what differs between runs
}

func newReel(c *cassette.Cassette) *reel {
	r := &reel{cassette: c, entries: make([]entry, len(c.Exchanges))}
	for i, x := range c.Exchanges {
		r.entries[i] = entry{where(x.Request.Method, x.Request.Path), neutral(x.Request.Body, x.Workspace)}
	}
	return r
}

// where is what counts of an address: what stands before the last part of the path
// depends on the base URL that somebody set.
func where(method, address string) string {
	before, query, asked := strings.Cut(address, "?")
	out := method + " " + path.Base(before)
	if asked {
		out += "?" + query
	}
	return out
}

// What stands for something that differs between runs.
const (
	anyFolder = "[workspace]"
	anyID     = "${1}_[id]"
)

// ids are the names that Cadre gives things, for instance an artifact that holds a
// long result. They are other ones in each run.
var ids = regexp.MustCompile(`\b([a-z]{3,4})_[0-9a-hjkmnp-tv-z]{26}\b`)

// neutral is a request's body without ids and without the folders that are named.
func neutral(body []byte, folders ...string) []byte {
	for _, folder := range folders {
		body = withoutFolder(body, folder)
	}
	return ids.ReplaceAll(body, []byte(anyID))
}

// withoutFolder puts a word in the place of a folder, where its name is whole.
func withoutFolder(body []byte, folder string) []byte {
	quoted, err := json.Marshal(folder)
	if folder == "" || err != nil {
		return body
	}
	name := quoted[1 : len(quoted)-1]
	var out []byte
	from := 0 // what stands before it is in out
	for at := 0; ; {
		next := bytes.Index(body[at:], name)
		if next < 0 {
			return append(out, body[from:]...)
		}
		begin := at + next
		end := begin + len(name)
		if begin > 0 && partOfName(body[begin-1]) || end < len(body) && partOfName(body[end]) {
			at = begin + 1
			continue
		}
		out = append(append(out, body[from:begin]...), anyFolder...)
		from, at = end, end
	}
}

func partOfName(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
