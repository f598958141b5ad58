//go:build linux && !amd64

package localprocess

// refusedHere are calls that only this processor has.
var refusedHere []uint32
