package cassette

import (
	"errors"
	"io/fs"
	"os"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Load reads a cassette. A file that is missing or not valid is a fault that says
// where and what.
func Load(path string) (*Cassette, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "CASSETTE_NOT_FOUND",
			"there is no cassette %s: check the path, or record it first", path).Because(err)
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular():
		return nil, invalid("the cassette %s is not a file", path)
	case info.Size() > largest:
		return nil, invalid("the cassette %s has more than %d bytes", path, largest)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Parse(path, data)
}

func unreadable(path string, err error) error {
	return fault.New(fault.FailedPrecondition, "CASSETTE_UNREADABLE", "the cassette %s cannot be read", path).Because(err)
}
