package proctree

import (
	"context"
	"syscall"
	"time"
)

const (
	firstPause = time.Millisecond
	longPause  = 250 * time.Millisecond
	freezes    = 20 // looks for members that were born while others were stopped
)

// look finds the living members of something.
type look func() ([]process, error)

// end kills what look finds until two looks in a row find none. When ctx ends
// before, the error names who is alive.
func end(ctx context.Context, sys system, find look) error {
	pause := firstPause
	for empty := 0; ; {
		members, err := find()
		if err != nil {
			return err
		}
		if len(members) > 0 {
			empty = 0
			members = freeze(sys, find, members)
			for _, p := range members {
				sys.signal(p.identity(), syscall.SIGKILL)
			}
		} else if empty++; empty == 2 {
			return nil
		}
		if len(members) == 0 {
			continue
		}
		if wait(ctx, nil, pause) != nil {
			return alive(members)
		}
		pause = min(2*pause, longPause)
	}
}

// freeze stops members before they are killed, so that none of them makes
// children meanwhile. It answers all that it found.
func freeze(sys system, find look, members []process) []process {
	stopped := map[identity]bool{}
	for range freezes {
		fresh := false
		for _, p := range members {
			if !stopped[p.identity()] {
				stopped[p.identity()] = true
				fresh = true
				sys.signal(p.identity(), syscall.SIGSTOP)
			}
		}
		if !fresh {
			break
		}
		next, err := find()
		if err != nil {
			break
		}
		members = next
	}
	return members
}

// wait passes d, unless done is closed or ctx ends before; only the last is an
// error. done may be nil.
func wait(ctx context.Context, done <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
