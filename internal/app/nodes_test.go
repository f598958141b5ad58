package app

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
)

func TestTheDatabaseOfAFolderHasNoOtherServers(t *testing.T) {
	t.Setenv("CADRE_DATABASE_URL", "")
	t.Setenv("DATABASE_URL", "")
	if _, err := Nodes(t.Context(), t.TempDir()); fault.ReasonOf(err) != "STORE_NOT_SHARED" {
		t.Errorf("listing gave %v", err)
	}
	if _, err := ForgetNode(t.Context(), t.TempDir(), "nod_1"); fault.ReasonOf(err) != "STORE_NOT_SHARED" {
		t.Errorf("forgetting gave %v", err)
	}
}
