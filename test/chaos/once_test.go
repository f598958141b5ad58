package chaos

import (
	"path/filepath"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// quality.md, Reliability 6, with the server dying under the callers: the same key
// 100 times in parallel, before and after the kill, is one execution, wherever the
// kill falls between the commit and the answer.
func TestOneKeyIsOneExecutionWhenTheServerDies(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"commit.accept.before=kill@1", "commit.accept.after=kill@1", "publish.before=kill@2", "ack.before=kill@3", "ack.after=kill@30"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server, err := built.Hurt(t, filepath.Join(dir, "data"), "CADRE_FAILPOINTS="+place)
			if err != nil {
				t.Fatal(err)
			}
			h := &hurt{server: server, folder: dir}
			h.declare(t, filepath.Join(dir, "script.yaml"))
			if h.died {
				t.Fatal("the server died before the first call")
			}
			before := h.callTogether(t)
			h.restart(t)
			after := h.callTogether(t)
			if len(after) != parallelCalls {
				t.Errorf("after the restart %d of %d calls were answered", len(after), parallelCalls)
			}
			for _, a := range append(before, after...) {
				if !proto.Equal(a, after[0]) {
					t.Errorf("the answers differ:\n%v\n%v", a, after[0])
				}
			}
			turns, err := server.Executions().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{}))
			if err != nil || len(turns.Msg.GetAgentExecutions()) != 1 {
				t.Errorf("the ledger holds %v (%v), want one turn", turns, err)
			}
			h.session = after[0].GetSession().GetMetadata().GetId()
			server.AwaitType(t, h.session, "turn.completed", 1)
		})
	}
}

const parallelCalls = 100

// callTogether makes the same call many times at once and answers what was answered.
func (h *hurt) callTogether(t *testing.T) []*sessionv1.RunAgentResponse {
	t.Helper()
	sessions := h.server.Sessions()
	var mu sync.Mutex
	var answers []*sessionv1.RunAgentResponse
	var all sync.WaitGroup
	for range parallelCalls {
		all.Go(func() {
			res, err := sessions.RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{
				Agent: "editor", Message: "Edit.", IdempotencyKey: "the-one",
				Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: h.folder}}},
			}))
			if err != nil {
				return // the server died
			}
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, res.Msg)
		})
	}
	all.Wait()
	return answers
}
