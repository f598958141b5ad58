package temporal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/gofrs/flock"
)

// Inspect says what is wrong with the files of an engine that does not run, nil
// when they can be used or there are none. It changes nothing: the next Start sets
// unusable files aside and makes them anew.
func Inspect(dir string) error {
	f := &folder{dir: dir, log: slog.New(slog.DiscardHandler), lock: flock.New(dir)}
	err := f.unusable()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s: %w", f.path(mainFile), err)
}
