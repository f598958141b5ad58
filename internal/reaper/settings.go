package reaper

import (
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// The variables.
const (
	EnvIdle = "CADRE_SANDBOX_IDLE"    // how long a sandbox that nobody holds goes on; default 15m
	EnvAge  = "CADRE_SANDBOX_MAX_AGE" // how long one runs at most before it is started anew, while nobody holds it; default 24h
)

// Settings say when a sandbox is stopped. The zero value is the default.
type Settings struct {
	Idle time.Duration // default 15 min
	Age  time.Duration // default 24 h
}

// The bounds of both settings.
const (
	least = time.Second
	most  = 30 * 24 * time.Hour
)

// FromEnv reads them.
func FromEnv(env func(string) string) (s Settings, err error) {
	if s.Idle, err = duration(env, EnvIdle, 15*time.Minute); err != nil {
		return s, err
	}
	s.Age, err = duration(env, EnvAge, 24*time.Hour)
	return s, err
}

func duration(env func(string) string, name string, usual time.Duration) (time.Duration, error) {
	word := env(name)
	if word == "" {
		return usual, nil
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < least || d > most {
		return 0, fault.New(fault.InvalidArgument, "BAD_SANDBOX_SETTING", "%s=%s is no time for sandboxes: write one between 1s and 720h, such as 15m", name, word)
	}
	return d, nil
}
