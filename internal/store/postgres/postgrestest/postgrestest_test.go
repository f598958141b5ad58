package postgrestest

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// told records how a test was ended.
type told struct {
	testing.TB
	skipped, failed bool
}

func (t *told) Helper()               {}
func (t *told) Skipf(string, ...any)  { t.skipped = true }
func (t *told) Fatalf(string, ...any) { t.failed = true }

// C107
func TestWithoutAServerTestsSkipAndInCITheyFail(t *testing.T) {
	for _, row := range []struct {
		name string
		ci   string
		err  error
		skip bool
	}{
		{"no binaries on a machine of one's own", "", errNone, true},
		{"no binaries in CI", "true", errNone, false},
		{"a server that does not start", "", errors.New("the port is taken"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("CI", row.ci)
			got := &told{TB: t}
			missing(got, row.err)
			if got.skipped != row.skip {
				t.Errorf("skipped: %v, failed: %v", got.skipped, got.failed)
			}
			if !row.skip && !got.failed {
				t.Error("the test went on")
			}
		})
	}
	script, err := os.ReadFile("../../../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"export CI=true", "missing+=(postgresql)", "missing+=(pgbouncer)"} {
		if !strings.Contains(string(script), want) {
			t.Errorf(".ci/run does not say %q", want)
		}
	}
}
