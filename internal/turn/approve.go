package turn

import (
	"fmt"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/tool"
)

// denied says why a call is not made, to the model and to people; "" when it may
// be. Only unsafe calls need a word of the one who gave the input.
func (t *turn) denied(c *call, class tool.Class) string {
	if class != tool.Unsafe || t.claim.Policy.GetApprove() == agentexecutionv1.ApprovalMode_auto {
		return ""
	}
	return fmt.Sprintf("Denied: %s was not run, since the input does not say `--approve auto`. "+
		"What it does cannot be undone by Cadre, and the person has to allow it for each input of `cadre run` or `cadre send`. "+
		"Go on without it, or say what you would run and why.", c.Call.GetName())
}
