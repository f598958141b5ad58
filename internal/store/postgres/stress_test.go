package postgres_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// quality.md, Reliability 13
func TestManyWritersAndReadersMeetNoBusyError(t *testing.T) {
	storetest.Stress(t, open, nil) // alone: other tests would only take its share
}
