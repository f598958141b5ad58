package store_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// C111: grants, pending authorizations, signals and boot state are members of the
// contract, and nothing of it hands out the database.
func TestTheContractHoldsEverythingAndNoDatabase(t *testing.T) {
	t.Parallel()
	contract := reflect.TypeFor[store.Store]()
	for _, name := range []string{
		"Grant", "PutGrant", "DeleteGrantsOf", "PutPendingAuthorization", "TakePendingAuthorization",
		"ClaimSignal", "DeliverSignal", "ReleaseSignal", "BootState", "SetBootState",
		"SaveVersion", "TagVersion", "AppendWorkflowEvents", "UpsertScheduleRun", "AcquireLease", "PutBudget", "Spend",
	} {
		if _, ok := contract.MethodByName(name); !ok {
			t.Errorf("the contract has no %s", name)
		}
	}
	for i := range contract.NumMethod() {
		m := contract.Method(i)
		for j := range m.Type.NumOut() {
			out := m.Type.Out(j).String()
			for _, raw := range []string{"sql.", "sqldb.", "pgx", "driver."} {
				if strings.Contains(out, raw) {
					t.Errorf("%s hands out a %s", m.Name, out)
				}
			}
		}
	}
}

func TestStepsAreReadFromTheirFiles(t *testing.T) {
	t.Parallel()
	i := store.Inspection{Schema: 2}
	steps := []store.Step{{Version: 1, Name: "first"}, {Version: 2, Name: "usage"}, {Version: 4, Name: "contract"}}
	if err := i.Plan(steps); err != nil || i.Release != 4 || len(i.Pending) != 1 || i.Pending[0].Version != 4 {
		t.Errorf("the plan is %+v, %v", i, err)
	}
	i.Schema = 5
	if err := i.Plan(steps); fault.ReasonOf(err) != "NEWER_SCHEMA" {
		t.Errorf("a newer schema gave %v", err)
	}
}
