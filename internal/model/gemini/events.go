package gemini

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/cadre-dev/cadre/internal/model"
)

// largestEvent bounds, in bytes, one event of a stream.
const largestEvent = 32 << 20

// events reads server-sent events.
type events struct {
	r    *bufio.Reader
	data []byte
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 16<<10)} }

// next gives the data of the next event that has some, valid until the call after it.
// io.EOF ends the stream; an event that is not finished then counts for nothing.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	some := false
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		switch name, value, _ := bytes.Cut(line, []byte(":")); {
		case len(line) == 0 && some:
			return bytes.TrimSuffix(e.data, []byte("\n")), nil
		case string(name) == "data":
			some = true
			e.data = append(append(e.data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			if len(e.data) > largestEvent {
				return nil, tooLarge()
			}
		}
	}
}

// line gives a line without its end.
func (e *events) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > largestEvent {
				return nil, tooLarge()
			}
			var more []byte
			more, err = e.r.ReadSlice('\n')
			line = append(line, more...)
		}
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

func tooLarge() error {
	return &model.Error{Category: model.Malformed, Message: "an event of the stream is larger than 32 MiB"}
}
