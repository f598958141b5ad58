package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hiddenWord stands where a secret stood.
const hiddenWord = "[secret]"

// shortestSecret is the least length, in bytes, of what is looked for in texts:
// what is shorter may stand in any.
const shortestSecret = 6

// telling are parts of names of headers and query keys whose values authorize.
var telling = []string{"auth", "key", "token", "secret", "cookie", "password", "credential", "signature"}

func authorizes(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) })
}

// secrets are the values that a request was authorized with, in the forms in which
// they may come back, longest first.
func secrets(header http.Header, address *url.URL) []string {
	var found []string
	for name, values := range header {
		if !authorizes(name) {
			continue
		}
		for _, v := range values {
			found = append(found, v)
			if _, rest, ok := strings.Cut(v, " "); ok { // behind the scheme, such as Bearer
				found = append(found, strings.TrimSpace(rest))
			}
		}
	}
	for name, values := range address.Query() {
		if authorizes(name) {
			found = append(found, values...)
		}
	}
	if password, ok := address.User.Password(); ok {
		found = append(found, password)
	}
	var all []string
	for _, s := range found {
		if len(s) >= shortestSecret {
			all = append(all, forms(s)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// forms are the ways in which others write a value.
func forms(s string) []string {
	all := []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))}
	if quoted, err := json.Marshal(s); err == nil {
		all = append(all, strings.Trim(string(quoted), `"`))
	}
	return all
}

// escaped finds a value in a JSON text that writes any of its characters as an escape,
// as some writers do.
func escaped(s string) *regexp.Regexp {
	var b strings.Builder
	for _, r := range s {
		code := fmt.Sprintf("%04x", r)
		var hex strings.Builder
		for _, d := range code {
			if d >= 'a' && d <= 'f' {
				fmt.Fprintf(&hex, "[%c%c]", d, d-'a'+'A')
			} else {
				hex.WriteRune(d)
			}
		}
		fmt.Fprintf(&b, `(?:\\?%s|\\u%s)`, regexp.QuoteMeta(string(r)), hex.String())
	}
	return regexp.MustCompile(b.String())
}

// hideEscaped takes the secrets out of a text in whatever way it escapes them.
func hideEscaped(data []byte, secrets []string) []byte {
	if !bytes.Contains(data, []byte(`\`)) {
		return data
	}
	for _, s := range secrets {
		data = escaped(s).ReplaceAll(data, []byte(hiddenWord))
	}
	return data
}

// scrub takes the secrets out of everything that an exchange keeps.
func scrub(x *Exchange, secrets []string) {
	texts := []*string{&x.Workspace, &x.Request.Path, &x.Request.Type, &x.Response.Error}
	for _, s := range secrets {
		for _, t := range texts {
			*t = strings.ReplaceAll(*t, s, hiddenWord)
		}
		for _, b := range []*[]byte{&x.Request.Body, &x.Response.Body} {
			*b = bytes.ReplaceAll(*b, []byte(s), []byte(hiddenWord))
		}
		for name, values := range x.Response.Header {
			for i, v := range values {
				x.Response.Header[name][i] = strings.ReplaceAll(v, s, hiddenWord)
			}
		}
	}
	x.Request.Body, x.Response.Body = hideEscaped(x.Request.Body, secrets), hideEscaped(x.Response.Body, secrets)
}

// Address is a request's path and query as a cassette keeps it: without the values
// that authorize, and without what a base URL has in front of the version, which may be
// somebody's token.
func Address(address *url.URL) string {
	query := address.Query()
	changed := false
	for name := range query {
		if authorizes(name) {
			query.Set(name, hiddenWord)
			changed = true
		}
	}
	raw := address.RawQuery
	if changed {
		raw = strings.ReplaceAll(query.Encode(), url.QueryEscape(hiddenWord), hiddenWord)
	}
	path := fromVersion(address.EscapedPath())
	if raw == "" {
		return path
	}
	return path + "?" + raw
}

// version is the part of an API's path that its own paths follow.
var version = regexp.MustCompile(`^v[0-9][a-z0-9]*$`)

// fromVersion drops what stands in front of the last version in a path; of a path
// without one its last part is left.
func fromVersion(path string) string {
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i > 0; i-- {
		if version.MatchString(parts[i]) {
			return "/" + strings.Join(parts[i:], "/")
		}
	}
	return "/" + parts[len(parts)-1]
}

// holdsSecret looks once more, at what is about to be written.
func holdsSecret(data []byte, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(s string) bool { return bytes.Contains(data, []byte(s)) }) ||
		len(hideEscaped(data, secrets)) != len(data)
}
