package dockertest

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// told records how a test was ended.
type told struct {
	testing.TB
	skipped, failed string
}

func (t *told) Helper()                        {}
func (t *told) Skipf(format string, _ ...any)  { t.skipped = format }
func (t *told) Fatalf(format string, _ ...any) { t.failed = format }

// C49: without an engine the tests skip and say why; where they were asked for, and that
// CI does, its absence is a failure.
func TestWithoutAnEngineTestsSkipAndWhereAskedForTheyFail(t *testing.T) {
	for _, row := range []struct {
		name, run string
		err       error
		skip      bool
	}{
		{"no engine on a machine of one's own", "", errNone, true},
		{"no engine where it was asked for", "1", errNone, false},
		{"an engine that does not start", "", errors.New("no space"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv(EnvRun, row.run)
			got := &told{TB: t}
			missing(got, row.err)
			if (got.skipped != "") != row.skip || !row.skip && got.failed == "" {
				t.Errorf("skipped: %q, failed: %q", got.skipped, got.failed)
			}
		})
	}
	for path, wants := range map[string][]string{
		"../../../../.ci/run":  {"export CI=true", "missing+=(docker.io)", "missing+=(busybox-static)", "docker() { make test-docker; }", "set -- tools lint generated demo test docker"},
		"../../../../Makefile": {EnvRun + "=1"},
	} {
		script, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(script), want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
}
