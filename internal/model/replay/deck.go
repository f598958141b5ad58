package replay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/cassette"
)

// deck answers the requests of one question.
type deck struct {
	reel   *reel
	number int    // of the question within its turn; 0 when nobody knows
	folder string // the workspace that the model is told now
}

func newDeck(r *reel, req model.Request) deck {
	_, count, _ := strings.Cut(req.RequestID, "/")
	n, err := strconv.Atoi(count)
	if err != nil {
		n = 0
	}
	return deck{reel: r, number: n, folder: cassette.Workspace(req.Instructions)}
}

// instead stands for a transport, and never uses it.
func (d deck) instead(http.RoundTripper) http.RoundTripper { return d }

// RoundTrip answers from the cassette.
func (d deck) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, errors.Join(err, req.Body.Close())
		}
		if err = req.Body.Close(); err != nil {
			return nil, err
		}
	}
	if canonical, ok := cassette.Canonical(body); ok {
		body = canonical
	}
	x, err := d.find(where(req.Method, cassette.Address(req.URL)), body)
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // the request counts as sent
	}
	if x.Response.Status == 0 {
		return nil, errors.New(x.Response.Error)
	}
	header := x.Response.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status:     strconv.Itoa(x.Response.Status) + " " + http.StatusText(x.Response.Status),
		StatusCode: x.Response.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: -1, Request: req, Body: newPlayed(x.Response),
	}, nil
}

// find gives the exchange for a request. Of several that are equal it is the one
// that had the same number in its turn, else the last one before it, else the first.
func (d deck) find(where string, body []byte) (*cassette.Exchange, error) {
	best := -1
	for i, e := range d.reel.entries {
		x := &d.reel.cassette.Exchanges[i]
		if e.where != where || !bytes.Equal(e.body, neutral(body, d.folder, x.Workspace)) {
			continue
		}
		if best < 0 || d.fits(x.Number, d.reel.cassette.Exchanges[best].Number) {
			best = i
		}
	}
	if best < 0 {
		return nil, d.differs(where, body)
	}
	return &d.reel.cassette.Exchanges[best], nil
}

// fits tells whether a number is closer to the question's than another one.
func (d deck) fits(number, than int) bool {
	switch {
	case than == d.number:
		return false
	case number == d.number:
		return true
	}
	return number < d.number && (number > than || than > d.number)
}

// played is a body from the cassette.
type played struct {
	rest bytes.Reader
	end  error
}

func newPlayed(r cassette.Response) *played {
	p := &played{end: io.EOF}
	p.rest.Reset(r.Body)
	if r.Error != "" {
		p.end = errors.New(r.Error)
	}
	return p
}

// Read reads.
func (p *played) Read(b []byte) (int, error) {
	if p.rest.Len() == 0 {
		return 0, p.end
	}
	return p.rest.Read(b)
}

// Close does nothing: there is no connection.
func (p *played) Close() error { return nil }
