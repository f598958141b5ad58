package sandbox_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	read := func(set map[string]string) (sandbox.Limits, error) {
		return sandbox.LimitsFromEnv(func(name string) string { return set[name] })
	}
	if l, err := read(nil); err != nil || l != (sandbox.Limits{Memory: 2 << 30, CPUs: 2, PIDs: 512, Disk: 4 << 30}) {
		t.Errorf("by default %+v, %v", l, err)
	}
	set := map[string]string{sandbox.EnvMemory: "512m", sandbox.EnvCPUs: "0.5", sandbox.EnvPIDs: "64", sandbox.EnvDisk: "1G"}
	if l, err := read(set); err != nil || l != (sandbox.Limits{Memory: 512 << 20, CPUs: 0.5, PIDs: 64, Disk: 1 << 30}) {
		t.Errorf("as set %+v, %v", l, err)
	}
	for _, c := range [][2]string{
		{sandbox.EnvMemory, "much"},
		{sandbox.EnvMemory, "1m"},
		{sandbox.EnvMemory, "-1g"},
		{sandbox.EnvMemory, "9999999999999g"},
		{sandbox.EnvDisk, "0"},
		{sandbox.EnvCPUs, "0"},
		{sandbox.EnvCPUs, "NaN"},
		{sandbox.EnvCPUs, "Inf"},
		{sandbox.EnvPIDs, "1"},
		{sandbox.EnvPIDs, "1.5"},
	} {
		_, err := read(map[string]string{c[0]: c[1]})
		if fault.ReasonOf(err) != "BAD_SANDBOX_SETTING" || !strings.Contains(err.Error(), c[0]+"="+c[1]) {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
	}
}
