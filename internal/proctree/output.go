package proctree

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	pieceSize = 32 << 10
	pipeSize  = 1 << 20 // the most that a pipe holds unless root raised it
)

// output hands a tree's streams over. Both are one pipe, so that the order of
// arrival is kept.
type output struct {
	read *os.File
	to   io.Writer
	done chan struct{}
}

// newOutput answers the end that the tree writes to; the caller closes it after
// the start.
func newOutput(to io.Writer) (*output, *os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &output{read: read, to: to, done: make(chan struct{})}, write, nil
}

// run hands over until all writers are gone, or until finish.
func (o *output) run() {
	defer close(o.done)
	piece := make([]byte, pieceSize)
	for {
		n, err := o.read.Read(piece)
		o.hand(piece[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.rest(piece)
			return
		}
		if err != nil {
			return
		}
	}
}

// rest takes what the pipe still holds and waits for no writer.
func (o *output) rest(piece []byte) {
	if o.read.SetReadDeadline(time.Time{}) != nil {
		return
	}
	raw, err := o.read.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < pipeSize; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), piece)
			return true // never wait
		})
		if err != nil || n <= 0 {
			return
		}
		o.hand(piece[:n])
		total += n
	}
}

func (o *output) hand(piece []byte) {
	if len(piece) > 0 && o.to != nil {
		_, _ = o.to.Write(piece) // the command must not wait for a reader that gave up
	}
}

// finish is called when the tree is gone. It returns when everything that the
// tree wrote was handed over; a writer outside the tree is not waited for.
func (o *output) finish() {
	_ = o.read.SetReadDeadline(time.Now())
	<-o.done
	o.read.Close()
}
