package temporal

import (
	"context"

	"go.temporal.io/server/api/visibilityservice/v1"
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	servernamespace "go.temporal.io/server/common/namespace"
	"go.temporal.io/server/common/persistence/visibility/manager"
	"go.temporal.io/server/common/persistence/visibility/store"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute"
)

// visibilityName names the store in the server's configuration and files.
const visibilityName = "none"

// blind is a visibility store that keeps nothing. Visibility is the server's index
// for people who search workflows; ours is the ledger. Keeping it up would cost a
// new session half of its time.
type blind struct{}

var _ store.VisibilityStore = blind{}

// NewVisibilityStore makes blind its own factory.
func (blind) NewVisibilityStore(
	config.CustomDatastoreConfig, searchattribute.Provider, searchattribute.MapperProvider, servernamespace.Registry,
	*chasm.Registry, resolver.ServiceResolver, log.Logger, metrics.Handler,
) (store.VisibilityStore, error) {
	return blind{}, nil
}

func (blind) Close()               {}
func (blind) GetName() string      { return visibilityName }
func (blind) GetIndexName() string { return visibilityName }

func (blind) ValidateCustomSearchAttributes(a map[string]any) (map[string]any, error) { return a, nil }

func (blind) AddSearchAttributes(context.Context, *manager.AddSearchAttributesRequest) error {
	return nil
}

func (blind) RecordWorkflowExecutionStarted(context.Context, *store.InternalRecordWorkflowExecutionStartedRequest) error {
	return nil
}

func (blind) RecordWorkflowExecutionClosed(context.Context, *store.InternalRecordWorkflowExecutionClosedRequest) error {
	return nil
}

func (blind) UpsertWorkflowExecution(context.Context, *store.InternalUpsertWorkflowExecutionRequest) error {
	return nil
}

func (blind) DeleteWorkflowExecution(context.Context, *manager.VisibilityDeleteWorkflowExecutionRequest) error {
	return nil
}

func (blind) ListWorkflowExecutions(context.Context, *manager.ListWorkflowExecutionsRequestV2) (*store.InternalListExecutionsResponse, error) {
	return &store.InternalListExecutionsResponse{}, nil
}

func (blind) CountWorkflowExecutions(context.Context, *manager.CountWorkflowExecutionsRequest) (*store.InternalCountExecutionsResponse, error) {
	return &store.InternalCountExecutionsResponse{}, nil
}

func (blind) GetWorkflowExecution(context.Context, *manager.GetWorkflowExecutionRequest) (*store.InternalGetWorkflowExecutionResponse, error) {
	return &store.InternalGetWorkflowExecutionResponse{}, nil
}

func (blind) ListChasmExecutions(context.Context, *visibilityservice.ListChasmExecutionsRequest) (*store.InternalListExecutionsResponse, error) {
	return &store.InternalListExecutionsResponse{}, nil
}

func (blind) CountChasmExecutions(context.Context, *visibilityservice.CountChasmExecutionsRequest) (*store.InternalCountExecutionsResponse, error) {
	return &store.InternalCountExecutionsResponse{}, nil
}
