// Package telemetry sets up what the server says about itself: structured log
// lines with constant messages and snake_case keys, in a file of the data
// folder and, in the foreground, on standard error.
package telemetry

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// LogFile is the log's path below the data folder.
const LogFile = "server.log"

// rotateAt is the size, in bytes, above which a start sets the old log aside.
const rotateAt = 32 << 20

// Open makes the server's logger. Lines go to the data folder's log file as
// JSON; when also is not nil, readable lines at warn and above go there too. The
// level applies to the file. The closer must be called at the end.
func Open(dir string, level slog.Level, also io.Writer) (*slog.Logger, io.Closer, error) {
	path := filepath.Join(dir, LogFile)
	if info, err := os.Stat(path); err == nil && info.Size() > rotateAt {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	var h slog.Handler = slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level})
	if also != nil {
		h = slog.NewMultiHandler(h, slog.NewTextHandler(also, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return slog.New(h), f, nil
}

// Discard is a logger for those who want none.
func Discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
