package sandbox

import (
	"math"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
)

// The variables that bound a sandbox, whatever the driver.
const (
	EnvMemory = "CADRE_SANDBOX_MEMORY" // bytes, or with k, m, g; default 2g
	EnvCPUs   = "CADRE_SANDBOX_CPUS"   // processors, also a part of one; default 2
	EnvPIDs   = "CADRE_SANDBOX_PIDS"   // processes and threads; default 512
	EnvDisk   = "CADRE_SANDBOX_DISK"   // of one file, bytes or with k, m, g; default 4g
)

// The defaults.
const (
	DefaultMemory = 2 << 30
	DefaultCPUs   = 2
	DefaultPIDs   = 512
	DefaultDisk   = 4 << 30
)

// Limits bound what one sandbox takes from its machine.
type Limits struct {
	Memory int64   // bytes
	CPUs   float64 // processors
	PIDs   int64   // processes and threads at once
	Disk   int64   // bytes of the largest file
}

// The least of each: below it nothing could run.
const (
	leastMemory = 32 << 20
	leastCPUs   = 0.01
	leastPIDs   = 16
	leastDisk   = 1 << 20
)

// LimitsFromEnv reads them. A value that is no number or too little is refused with the
// variable's name.
func LimitsFromEnv(env func(name string) string) (l Limits, err error) {
	if l.Memory, err = bytesOf(env, EnvMemory, DefaultMemory, leastMemory); err != nil {
		return l, err
	}
	if l.Disk, err = bytesOf(env, EnvDisk, DefaultDisk, leastDisk); err != nil {
		return l, err
	}
	l.CPUs, l.PIDs = DefaultCPUs, DefaultPIDs
	if word := env(EnvCPUs); word != "" {
		if l.CPUs, err = strconv.ParseFloat(word, 64); err != nil || !(l.CPUs >= leastCPUs) || math.IsInf(l.CPUs, 0) {
			return l, badLimit(EnvCPUs, word, "a number of processors from 0.01 on, such as 1.5")
		}
	}
	if word := env(EnvPIDs); word != "" {
		if l.PIDs, err = strconv.ParseInt(word, 10, 32); err != nil || l.PIDs < leastPIDs {
			return l, badLimit(EnvPIDs, word, "a number of processes from 16 on, such as 512")
		}
	}
	return l, nil
}

// bytesOf reads a number of bytes.
func bytesOf(env func(string) string, name string, usual, least int64) (int64, error) {
	word := env(name)
	if word == "" {
		return usual, nil
	}
	digits, unit := strings.ToLower(word), int64(1)
	for suffix, size := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, cut := strings.CutSuffix(digits, suffix); cut {
			digits, unit = rest, size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/unit || n*unit < least {
		return 0, badLimit(name, word, "a number of bytes such as 512m or 2g, from "+strconv.FormatInt(least>>20, 10)+"m on")
	}
	return n * unit, nil
}

func badLimit(name, word, want string) error {
	return fault.New(fault.InvalidArgument, "BAD_SANDBOX_SETTING", "%s=%s does not bound a sandbox: write %s", name, word, want)
}
