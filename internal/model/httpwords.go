package model

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// pieceLimit bounds, in bytes, what is kept of a body that is not the provider's JSON.
const pieceLimit = 512

// longestWait bounds a hint to wait; what is longer is kept as this.
const longestWait = 366 * 24 * time.Hour

// words are what an error's JSON says.
type words struct {
	status  int // a code that is a number of HTTP's
	code    string
	kind    string
	message string
	wait    time.Duration
	spent   spent
}

// spent is which of its allowances a provider names as used up.
type spent int

const (
	notNamed spent = iota
	brief          // of a minute or so: it comes back by itself
	daily          // of a day
)

// readWords reads the shapes that providers use: the error as an object under `error`
// or at the top, or as a string under `error`, `message` or `detail`; and a list
// that holds such an object.
func readWords(data []byte) words {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return words{message: piece(string(data))}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return words{message: piece(string(data))}
	}
	inner, ok := top["error"].(map[string]any)
	if !ok {
		inner = top
	}
	w := words{message: firstText(inner["message"], top["error"], top["message"], top["detail"])}
	w.labels(inner)
	for _, d := range objects(inner["details"]) {
		w.detail(d)
	}
	if w.message == "" && w.code == "" {
		w.message = piece(string(data))
	}
	return w
}

// labels reads code, status and type; a number that is a status of HTTP is no code
// where a word stands beside it.
func (w *words) labels(inner map[string]any) {
	w.kind = firstText(inner["type"])
	if w.kind == "error" {
		w.kind = "" // the name of the event
	}
	w.code = firstText(inner["code"], inner["status"])
	if n, ok := inner["code"].(float64); ok {
		if n >= 400 && n < 600 {
			w.status = int(n)
		}
		if w.code == "" {
			w.code = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
}

// detail reads one of Google's details: a reason, how long to wait, or the
// allowances that are used up. One of a day counts more than one of a minute.
func (w *words) detail(d map[string]any) {
	if r := firstText(d["reason"]); r != "" && w.kind == "" {
		w.kind = r
	}
	if hint, err := time.ParseDuration(firstText(d["retryDelay"])); err == nil && hint > 0 {
		w.wait = min(hint, longestWait)
	}
	for _, v := range objects(d["violations"]) {
		switch id := firstText(v["quotaId"]); {
		case strings.Contains(id, "PerDay"):
			w.spent = daily
		case id != "" && w.spent == notNamed:
			w.spent = brief
		}
	}
}

func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var all []map[string]any
	for _, one := range list {
		if o, ok := one.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}

// firstText is the first of them that is text.
func firstText(of ...any) string {
	for _, v := range of {
		if s, ok := v.(string); ok && s != "" {
			return s
		}
	}
	return ""
}

var (
	hiddenTags = regexp.MustCompile(`(?is)<(style|script)\b.*?(</(style|script)>|$)`)
	tags       = regexp.MustCompile(`(?s)<[^>]*>?`)
)

// piece is a short readable part of a body that no provider's JSON is.
func piece(s string) string {
	s = cut(s, errorBodyLimit)
	if strings.Contains(s, "<") {
		s = tags.ReplaceAllString(hiddenTags.ReplaceAllString(s, " "), " ")
	}
	return cut(strings.Join(strings.Fields(s), " "), pieceLimit)
}

// cut makes s valid UTF-8 of at most limit bytes, cut between characters.
func cut(s string, limit int) string {
	if len(s) > limit {
		for at := limit; at > limit-utf8.UTFMax; at-- {
			if at == 0 || utf8.RuneStart(s[at]) {
				s = s[:at]
				break
			}
		}
		s = s[:min(len(s), limit)]
	}
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) > limit { // a replacement is longer than a byte
		return cut(s, limit)
	}
	return s
}

// retryAfter is what the headers ask to wait; 0 for nothing, for what cannot be read
// and for the past.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if d := count(header.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	after := header.Get("Retry-After")
	if d := count(after, time.Second); d > 0 {
		return d
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(max(at.Sub(now), 0), longestWait)
	}
	return 0
}

func count(s string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || n <= 0 {
		return 0
	}
	if n >= float64(longestWait/unit) {
		return longestWait
	}
	return time.Duration(n * float64(unit))
}

// redirect says where a response leads to, which Cadre does not follow; "" for one
// that leads nowhere.
func redirect(status int, header http.Header) string {
	if status/100 != 3 || status == http.StatusNotModified {
		return ""
	}
	host := "another path"
	if to, err := url.Parse(header.Get("Location")); err != nil || header.Get("Location") == "" {
		host = "a place that it does not name"
	} else if to.Host != "" {
		host = "the host " + to.Host
	}
	return "the base URL redirects to " + host + ", and Cadre follows no redirect, since the key must not go elsewhere: set the base URL to where it leads"
}

// Bounded makes of the other side's words what an Error's Message may hold: valid
// UTF-8 of at most MessageLimit bytes.
func Bounded(s string) string { return cut(s, MessageLimit) }
