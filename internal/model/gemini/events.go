package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/cadre-dev/cadre/internal/model"
)

// largestEvent bounds, in bytes, one event of a stream.
const largestEvent = 32 << 20

// largestStray bounds, in bytes, what is kept of a stream that is no event.
const largestStray = 64 << 10

// events reads server-sent events.
type events struct {
	r     *bufio.Reader
	data  []byte
	stray []byte // lines that are no event's: the API may put a bare error into a stream
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
			e.astray(line)
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
		default:
			e.astray(line)
		}
	}
}

// astray keeps a line that looks like a piece of JSON.
func (e *events) astray(line []byte) {
	name, _, _ := bytes.Cut(line, []byte(":"))
	if bytes.ContainsAny(name, "{}[]\"") && len(e.stray)+len(line) < largestStray {
		e.stray = append(append(e.stray, line...), '\n')
	}
}

// line gives a line without its end; with an error it is what came of one.
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
		return line, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

// failure is the bare error that the stream held; nil when it held none.
func (e *events) failure() error {
	var list []chunk
	if json.Unmarshal(e.stray, &list) != nil {
		list = make([]chunk, 1)
		if json.Unmarshal(e.stray, &list[0]) != nil {
			return nil
		}
	}
	if len(list) == 0 || len(list[0].Error) == 0 {
		return nil
	}
	return model.FromEvent(e.stray)
}

func tooLarge() error {
	return &model.Error{Category: model.Malformed, Message: "an event of the stream is larger than 32 MiB"}
}
