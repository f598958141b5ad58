package store

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Failed tells whether an error is that of a database which does not work at the moment,
// such as one on a full disk, and no answer of the contract.
func Failed(err error) bool {
	reason := fault.ReasonOf(err)
	return fault.CodeOf(err) == fault.Unavailable && strings.HasPrefix(reason, "STORE_") || reason == "STORE_REPLACED" || reason == "STORE_READ_ONLY"
}
