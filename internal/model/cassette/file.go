package cassette

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/cadre-dev/cadre/internal/fault"
)

// writing has one at a time change a cassette.
var writing sync.Mutex

// prepare makes the file ready to be recorded to: it exists, is a cassette of that
// model, and ends in whole exchanges.
func prepare(path, model string) error {
	return change(path, func(f *os.File) error { return begin(f, path, model) })
}

// store appends exchanges, all or none of them.
func store(path, model string, all []*heard) error {
	var data []byte
	for _, h := range all {
		one, err := write(h.Exchange)
		if err != nil {
			return unwritable(path, err)
		}
		if holdsSecret(one, h.secrets) {
			return unwritable(path, errSecret)
		}
		data = append(data, one...)
	}
	return change(path, func(f *os.File) error {
		if err := begin(f, path, model); err != nil {
			return err
		}
		return add(f, path, data)
	})
}

var errSecret = errors.New("the exchange would have held a secret")

func unwritable(path string, err error) error {
	return fault.New(fault.FailedPrecondition, "CASSETTE_UNWRITABLE",
		"the cassette %s cannot be written: check that its folder exists, may be written to and has room; the log says more", path).Because(err)
}

// change opens the file for one change.
func change(path string, do func(*os.File) error) error {
	if !filepath.IsAbs(path) {
		return invalid("the cassette %q is not an absolute path: write the whole path", path)
	}
	writing.Lock()
	defer writing.Unlock()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return invalid("%s is not a file, and no cassette can be recorded there", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unwritable(path, err)
	}
	if err = f.Chmod(0o600); err == nil { // also of a file that was there
		err = do(f)
	} else {
		err = unwritable(path, err)
	}
	if closing := f.Close(); err == nil && closing != nil {
		err = unwritable(path, closing)
	}
	return err
}

// begin writes the beginning of a new file and looks at that of an old one. What an
// interrupted recording left behind the last whole exchange is cut off.
func begin(f *os.File, path, model string) error {
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return unwritable(path, err)
	}
	if len(data) > largest {
		return invalid("the cassette %s has more than %d bytes: record to another file", path, largest)
	}
	whole := wholeBytes(data)
	if head, err := header(model); whole == 0 && err == nil && bytes.HasPrefix(head, data) {
		return first(f, path, head)
	}
	c := &Cassette{}
	if err := head(path, data[:whole], c); err != nil {
		return err
	}
	if c.Model != model {
		return fault.New(fault.FailedPrecondition, "CASSETTE_OTHER_MODEL",
			"the cassette %s holds a recording of %s, not of %s: record to another file, or remove it first", path, c.Model, model)
	}
	if whole < len(data) {
		if err := f.Truncate(int64(whole)); err != nil {
			return unwritable(path, err)
		}
	}
	return nil
}

// first writes the beginning of a file that has nothing yet, or a torn beginning.
func first(f *os.File, path string, head []byte) error {
	if err := f.Truncate(0); err != nil {
		return unwritable(path, err)
	}
	if err := add(f, path, head); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return unwritable(path, err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// head reads the first document of a file.
func head(path string, data []byte, c *Cassette) error {
	end := bytes.Index(data, []byte("\n"+docEnd))
	if end < 0 {
		return invalid("%s is a file with something else in it, and no cassette: record to another one", path)
	}
	read, err := Parse(path, data[:end+1+len(docEnd)])
	if err != nil {
		return invalid("%s is a file with something else in it, and no cassette: record to another one", path).Because(err)
	}
	*c = *read
	return nil
}

// add appends bytes and sees them on the disk. What is written by half is taken back.
func add(f *os.File, path string, data []byte) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return unwritable(path, err)
	}
	if size+int64(len(data)) > largest {
		return invalid("the cassette %s would have more than %d bytes: record to another file", path, largest)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return unwritable(path, errors.Join(err, f.Truncate(size)))
	}
	return nil
}
