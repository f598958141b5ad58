package model

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Key reads a provider's key from a variable; "" when it holds none. Space around it,
// which comes with copying, is no part of it. A key with a line break or another
// character that cannot be printed fits into no header: it is a fault that names the
// variable and never the key.
func Key(env func(name string) string, variable string) (string, error) {
	key := strings.TrimSpace(env(variable))
	if utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return key, nil
	}
	return "", fault.New(fault.FailedPrecondition, "MODEL_KEY_INVALID",
		"the variable %s does not hold a key: there is a line break or another character in it that cannot be printed; "+
			"set it to the key alone and start the server again", variable).With("variable", variable)
}
