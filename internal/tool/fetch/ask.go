package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/cadre-dev/cadre/internal/netguard"
)

// answer is what came for a URL.
type answer struct {
	status string // `404 Not Found`
	code   int
	header http.Header
	url    *url.URL // where it came from in the end
	method string
	body   []byte // at most mostBody
	more   bool   // there was more of it
}

var (
	errTime      = errors.New("the time for one call is over")
	errRedirects = fmt.Errorf("there were more than %d redirects", mostRedirects)
)

// ask makes the request and reads the answer.
func (f fetcher) ask(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.time, errTime)
	defer cancel()
	transport := f.guard.Transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: redirect}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "cadre")
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, */*;q=0.8")
	res, err := client.Do(req)
	if err != nil {
		return nil, ended(ctx, err)
	}
	defer res.Body.Close()
	a := &answer{status: res.Status, code: res.StatusCode, header: res.Header, url: res.Request.URL, method: r.method}
	if a.body, err = io.ReadAll(io.LimitReader(res.Body, mostBody+1)); err != nil {
		return nil, ended(ctx, fmt.Errorf("the answer broke off after %d bytes: %w", len(a.body), err))
	}
	if a.more = len(a.body) > mostBody; a.more {
		a.body = a.body[:mostBody]
	}
	return a, nil
}

// redirect judges each hop; the address that it leads to is judged when it is dialed.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects {
		return errRedirects
	}
	req.Header.Del("Referer")
	return netguard.CheckURL(req.URL)
}

// ended tells the end of the call's time from what went wrong before.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// told says in the model's words why there is no answer.
func (f fetcher) told(r request, err error) string {
	at := r.url.Host
	var hop *url.Error
	if errors.As(err, &hop) {
		if u, e := url.Parse(hop.URL); e == nil && u.Host != "" {
			at = u.Host
		}
		err = hop.Err
	}
	led := ""
	if at != r.url.Host {
		led = fmt.Sprintf(", to which %s led,", r.url.Host)
	}
	var refused *netguard.RefusedError
	var name *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%s%s may not be fetched: %s. Only public addresses can be; who runs this server can name exceptions in %s.", at, led, refused, AllowVariable)
	case errors.Is(err, errTime):
		return fmt.Sprintf("%s%s did not answer within %s. Try it once more, or another source.", at, led, f.time)
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("There is no host %s%s. Check its spelling.", name.Name, led)
	case errors.As(err, &slow) && slow.Timeout():
		return fmt.Sprintf("%s%s did not answer in time (%v). Try it once more, or another source.", at, led, err)
	}
	return fmt.Sprintf("%s%s could not be fetched: %v.", at, led, err)
}
