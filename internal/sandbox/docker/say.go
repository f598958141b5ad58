package docker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// mostSaid bounds what is passed on of the engine's words.
const mostSaid = 300

// sentence is what the engine said, on one line and without its prefix.
func sentence(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.TrimPrefix(text, "Error response from daemon: ")
	if runes := []rune(text); len(runes) > mostSaid {
		text = string(runes[:mostSaid]) + "…"
	}
	return strings.TrimSuffix(text, ".")
}

// list joins words, in one order.
func list(words []string) string {
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// failed says what could not be done with a sandbox and why. A caller who left gets that
// as the cause.
func failed(ctx context.Context, what string, k sandbox.Key, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return sandbox.ErrFailed.Saying("the sandbox of %s was not %s: the wait for it ended", k, what).Because(errors.Join(cause, err))
	}
	return sandbox.ErrFailed.Saying("the sandbox of %s was not %s: %s", k, what, sentence(err)).Because(err)
}
