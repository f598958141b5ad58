//go:build failpoint && unix

package failpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// clock keeps the offset that was read last, and of which file.
type clock struct {
	mu     sync.Mutex
	file   string
	mtime  time.Time
	size   int64
	offset time.Duration
}

var moved = sync.OnceValue(func() *clock { return &clock{file: os.Getenv(envOffset)} })

// Now is the time of day, moved by the offset that the environment names. The file
// is read again when it changed. One that is missing or empty changes nothing, so
// that it may be written while the process reads it.
func Now() time.Time {
	c := moved()
	if c.file == "" {
		return time.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		refuse(fmt.Errorf("%s: %w", envOffset, err))
	}
	return time.Now().Add(c.offset)
}

func (c *clock) read() error {
	info, err := os.Stat(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.ModTime().Equal(c.mtime) && info.Size() == c.size {
		return nil
	}
	data, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return nil
	}
	offset, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration such as 72h or -5m", text)
	}
	c.mtime, c.size, c.offset = info.ModTime(), info.Size(), offset
	return nil
}
