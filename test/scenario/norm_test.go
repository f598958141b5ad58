package scenario

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ids are what Cadre makes; each prefix is counted from 1 in the order of appearance.
var ids = regexp.MustCompile(`\b([a-z]{2,5})_[0-9a-hjkmnp-tv-z]{26}\b`)

// changing are what differs from run to run, and the word that stands for it.
var changing = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}\b`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`(process|"pid":) \d+`), "$1 PID"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?ms\b`), "DURATION"},
	{regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)?s\b`), "DURATION"},
	{regexp.MustCompile(`"?durationMs"?([:=]) ?"\d+"`), "durationMs${1}DURATION"},
	{regexp.MustCompile(`durationMs=\d+`), "durationMs=DURATION"},
	{regexp.MustCompile(`model=\S+`), "model=MODEL"}, // its path is cut where the line ends
	{regexp.MustCompile(`\d+ tokens in, \d+ out`), "N tokens in, N out"},
	{regexp.MustCompile(`"(input|output)Tokens":"\d+"`), `"${1}Tokens":N`},
	{regexp.MustCompile(`\b\d+ MiB free`), "SPACE free"},
	{regexp.MustCompile(`\b\d+\.\d [KM]iB\b`), "SIZE"},
	{regexp.MustCompile(`\bschema v\d+`), "schema vN"},
	{regexp.MustCompile(`made by cadre \S+`), "made by cadre VERSION"},
	{regexp.MustCompile(`(ok   processes      )commands run in .*`), "${1}HOW"},
	{regexp.MustCompile(`(ok   sandbox \S+ +)\S.*`), "${1}HOW"},
	{regexp.MustCompile(`[ \t]+(\n|$)`), "$1"},
}

func norm(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "norm FILE OUT")
	text := strings.ReplaceAll(ts.ReadFile(args[0]), stateOf(ts).work, "$WORK")
	seen, counts := map[string]string{}, map[string]int{}
	text = ids.ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			prefix, _, _ := strings.Cut(id, "_")
			counts[prefix]++
			seen[id] = fmt.Sprintf("%s_%d", prefix, counts[prefix])
		}
		return seen[id]
	})
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.word)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}
