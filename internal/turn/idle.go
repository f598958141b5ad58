package turn

import (
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// EnvStreamIdle and EnvContentIdle set Options.StreamIdle and Options.ContentIdle for a server.
const (
	EnvStreamIdle  = "CADRE_STREAM_IDLE"
	EnvContentIdle = "CADRE_CONTENT_IDLE"
)

// mostIdle is more than anybody waits for a model that says nothing.
const mostIdle = 24 * time.Hour

// Idle reads one of the settings; 0 where there is none.
func Idle(env func(string) string, name string) (time.Duration, error) {
	text := strings.TrimSpace(env(name))
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > mostIdle {
		return 0, fault.New(fault.InvalidArgument, "BAD_IDLE_TIME",
			"%s=%s is no time to wait for a silent model: write a duration above 0 and of at most 24h, such as 5m", name, text)
	}
	return d, nil
}
