package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Output that is lost is no success.
func TestLostOutputIsToldAndFails(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	if got := Main(Assembly{Version: "1"}, []string{"version"}, nil, full{}, &said); got != exitFailed || !strings.Contains(said.String(), "no space left") {
		t.Errorf("exit %d: %s", got, said.String())
	}
}
