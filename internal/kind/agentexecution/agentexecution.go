// Package agentexecution is the noun of one turn. The session's verbs make it
// and the ledger changes it; here it is only read.
package agentexecution

import (
	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/store"
)

// Kind is what the noun registers.
func Kind() pipeline.Kind {
	return pipeline.Kind{
		Kind: resourcev1.ResourceKind_agent_execution, New: func() proto.Message { return &agentexecutionv1.AgentExecution{} },
		Index: store.ExecutionIndex, Listed: true, Search: search.ExtractTurn(1, content),
	}
}

// content is what turns are found by: what was said, and what was answered. Each may
// have half of the room.
func content(x *agentexecutionv1.AgentExecution, t search.Turn) search.Content {
	return search.Content{
		Text:    search.Cut(t.Input, search.MaxText/2) + "\n" + search.Cut(t.Answer, search.MaxText/2-1),
		Session: x.GetSpec().GetSessionId(),
	}
}
