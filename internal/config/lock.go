package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/cadre-dev/cadre/internal/fault"
)

const lockFile = "lock"

// Lock is the right of one server to a data folder. The system frees it when
// the process ends, however it ends.
type Lock struct{ file *flock.Flock }

// patience is how long Acquire tries. Holder takes the lock for a moment to see
// whether it is free, and that is no reason to give up.
const patience = 250 * time.Millisecond

// Acquire takes the data folder's lock, or says who holds it.
func Acquire(dir string) (*Lock, error) {
	path := filepath.Join(dir, lockFile)
	f := flock.New(path)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ok, err := f.TryLockContext(ctx, 10*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, dataFault(dir, err)
	}
	if !ok {
		return nil, fault.New(fault.FailedPrecondition, "DATA_FOLDER_HELD",
			"the data folder %s is held by another cadre server (%s): use that one, end it with `cadre down --data %s`, or name another folder with --data", dir, holder(dir), dir)
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, dataFault(dir, err)
	}
	return &Lock{file: f}, nil
}

// Release gives the lock back.
func (l *Lock) Release() error { return l.file.Unlock() }

// Holder answers the process id of the server that holds the folder's lock, 0
// when nobody does.
func Holder(dir string) int {
	path := filepath.Join(dir, lockFile)
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	f := flock.New(path)
	defer func() { _ = f.Close() }()
	if ok, err := f.TryRLock(); err != nil || ok {
		return 0
	}
	data, _ := os.ReadFile(path)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// Stopped says whether a process is stopped by a signal, where the system tells.
func Stopped(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ") // after the name
	return strings.HasPrefix(rest, "T")
}

func holder(dir string) string {
	who := "process unknown"
	if pid := Holder(dir); pid > 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	if s, err := ReadServer(dir); err == nil && s.URL != "" {
		who += ", " + s.URL
	}
	return who
}
