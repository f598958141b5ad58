package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// host NAME DIR starts a model's host on this machine and sets a variable to its URL. What it
// answers stands, as the bytes of an HTTP response, in a file of DIR that has the name of the
// model which is asked for; NAME.2 answers the second request where it is there, and so on. A
// last line of such a file can say what comes after the bytes: `@silence` leaves the connection
// open, `@heartbeats` sends a comment of the stream every 20 ms, and nothing ends it.
func host(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "host NAME DIR")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	h := &wire{dir: ts.MkAbs(args[1]), asked: map[string]int{}, gone: make(chan struct{})}
	server := &http.Server{Handler: h, ReadHeaderTimeout: awaitTime}
	go func() { _ = server.Serve(l) }()
	stateOf(ts).undo = append(stateOf(ts).undo, func() {
		close(h.gone)
		_ = server.Close()
	})
	ts.Setenv(args[0], "http://"+l.Addr().String())
}

// wire answers with the bytes of files.
type wire struct {
	dir  string
	gone chan struct{} // closed at the scenario's end

	mu    sync.Mutex
	asked map[string]int // requests so far, by model
}

// ServeHTTP takes the connection over: what goes out is the file's bytes and nothing else.
func (h *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, after, err := h.answer(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.Write(data)
	for err == nil && after != "" {
		select {
		case <-h.gone:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if after == "@heartbeats" {
			_, err = conn.Write([]byte(": still here\n\n"))
		}
	}
}

// answer finds the bytes for a request, and what comes behind them.
func (h *wire) answer(body io.Reader) (data []byte, after string, err error) {
	var req struct{ Model string }
	if err := json.NewDecoder(body).Decode(&req); err != nil {
		return nil, "", err
	}
	h.mu.Lock()
	h.asked[req.Model]++
	n := h.asked[req.Model]
	h.mu.Unlock()
	name := filepath.Join(h.dir, filepath.Base(req.Model))
	if data, err = os.ReadFile(fmt.Sprintf("%s.%d", name, n)); err != nil {
		data, err = os.ReadFile(name)
	}
	text := string(data)
	for _, word := range []string{"@silence", "@heartbeats"} {
		if rest, ok := strings.CutSuffix(strings.TrimRight(text, "\n"), word); ok {
			text, after = rest, word
		}
	}
	head, rest, _ := strings.Cut(text, "\n\n")
	if head == "" {
		return nil, after, err
	}
	return []byte(strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + rest), after, err
}
