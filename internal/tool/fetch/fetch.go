// Package fetch is the tool that gets a URL of the public internet as readable text, or
// as an image. It asks with GET and HEAD alone and sends nothing but the URL, so a call
// may run beside others and again; what the far end does when it is asked is its own.
// Every address is judged when it is dialed, by package netguard. There are no cookies,
// no scripts are run, and no proxy of the environment is used.
package fetch

import (
	"context"
	_ "embed" // for the texts beside this file
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/netguard"
	"github.com/cadre-dev/cadre/internal/tool"
)

// AllowVariable names the hosts and networks that may be fetched although they are
// private, as netguard.ParseAllowed reads them.
const AllowVariable = "CADRE_FETCH_ALLOW"

const (
	mostBody      = 5 << 20 // bytes of an answer, after decompression
	mostTime      = 30 * time.Second
	mostRedirects = 5
	longestURL    = 8 << 10
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

// Registration is the tool's line in the standard list.
var Registration = tool.Registration{Name: "fetch", New: func(env func(string) string) (tool.Tool, error) {
	allow, err := netguard.ParseAllowed(env(AllowVariable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", AllowVariable, err)
	}
	return New(&netguard.Guard{Allow: allow}), nil
}}

type fetcher struct {
	guard *netguard.Guard
	time  time.Duration // for one call
}

// New makes the tool over a guard.
func New(g *netguard.Guard) tool.Tool { return fetcher{guard: g, time: mostTime} }

// Spec describes the tool.
func (fetcher) Spec() tool.Spec {
	return tool.Spec{Name: "fetch", Description: description, Schema: schema, Class: tool.ReadOnly, NoFiles: true}
}

type arguments struct {
	URL    string `json:"url"`
	Method string `json:"method,omitempty"`
	Start  int    `json:"start,omitempty"`
}

// request is what the arguments mean.
type request struct {
	url    *url.URL // without a fragment
	method string
	start  int
}

// Run fetches.
func (f fetcher) Run(ctx context.Context, _ tool.Env, call tool.Call) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return *r, nil
	}
	req, bad := args.request()
	if bad != "" {
		return tool.Fail("%s", bad), nil
	}
	a, err := f.ask(ctx, req)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case err != nil:
		return tool.Fail("%s", f.told(req, err)), nil
	}
	return a.show(req), nil
}

// request checks what needs no network, and says what is wrong.
func (a arguments) request() (r request, bad string) {
	r.start, r.method = a.Start, strings.ToUpper(a.Method)
	if r.method == "" {
		r.method = http.MethodGet
	}
	switch {
	case r.method != http.MethodGet && r.method != http.MethodHead:
		return r, fmt.Sprintf("`method` must be GET or HEAD, not %.20q: this tool only reads. To send something use a command, where that is allowed.", a.Method)
	case r.start < 0:
		return r, fmt.Sprintf("`start` must be 0 or more, not %d.", r.start)
	case len(a.URL) > longestURL:
		return r, fmt.Sprintf("`url` has %d bytes, more than %d.", len(a.URL), longestURL)
	}
	u, err := url.Parse(strings.TrimSpace(a.URL))
	switch {
	case err != nil:
		return r, "`url` is no valid URL: " + strings.TrimPrefix(err.Error(), "parse ") + "."
	case u.Scheme == "" || u.Opaque != "":
		return r, fmt.Sprintf("`url` must be whole, with http:// or https:// in front, not %.100q.", a.URL)
	}
	if err := netguard.CheckURL(u); err != nil {
		return r, "`url`: " + err.Error() + "."
	}
	u.Fragment, u.RawFragment = "", ""
	r.url = u
	return r, ""
}
