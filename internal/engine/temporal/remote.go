package temporal

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/fault"
)

// longestRedial is the longest wait between tries to open a connection.
const longestRedial = 2 * time.Second

// dialing has calls wait for a server that is gone instead of failing one after the
// other: pollers would wait ever longer and be late when it comes back.
func dialing(c *tls.Config) client.ConnectionOptions {
	return client.ConnectionOptions{
		TLS:         c,
		TLSDisabled: c == nil,
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: firstRetry, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestRedial},
				MinConnectTimeout: lookTimeout,
			}),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		},
	}
}

// namespaceID reads the namespace's id, which another database gives anew.
func (c *connection) namespaceID(ctx context.Context) (string, error) {
	res, err := c.client.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: c.to.namespace}, grpc.WaitForReady(false))
	return res.GetNamespaceInfo().GetId(), err
}

// clusterID reads the id of the server's database; "" where clients may not know it.
func (c *connection) clusterID(ctx context.Context) (string, error) {
	res, err := c.client.WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{}, grpc.WaitForReady(false))
	switch codeOf(err) {
	case codes.PermissionDenied, codes.Unimplemented, codes.Unauthenticated:
		return "", nil
	}
	return res.GetClusterId(), err
}

// memoryID names a namespace of a database.
func memoryID(cluster, namespace string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + namespace))
	return "eng_" + hex.EncodeToString(sum[:16])
}

func codeOf(err error) codes.Code { return serviceerror.ToStatus(err).Code() }

// explain says for people why the server cannot be used. It holds no text of err,
// which is for the log.
func (x *External) explain(err error) *fault.Fault {
	say := engine.ErrUnavailable.Saying
	switch code := codeOf(err); {
	case code == codes.NotFound:
		return say("the Temporal at %s has no namespace %q: make it there, or name another with %s", x.Address, x.Namespace, EnvNamespace)
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return say("the Temporal at %s refuses us in the namespace %q: check %s or the client certificate, and what they permit", x.Address, x.Namespace, EnvAPIKey)
	case aboutTLS(err):
		return say("no TLS connection to the Temporal at %s comes about: check %s and the certificates that the variables name", x.Address, EnvTLS)
	case code == codes.Unavailable || code == codes.DeadlineExceeded:
		return say("the Temporal at %s cannot be reached; it is tried again every few seconds", x.Address)
	}
	return say("the Temporal at %s does not answer as it should (%s); it is tried again every few seconds", x.Address, codeOf(err))
}

// aboutTLS tells whether one side speaks TLS that the other does not, or not so.
func aboutTLS(err error) bool {
	return strings.Contains(err.Error(), "handshake") || strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "server preface")
}

// unstick has the server forget which worker keeps the sessions in its memory: it
// died, and the server would wait for it for seconds. Best effort.
func (c *connection) unstick(ctx context.Context, refs []engine.ActivityRef) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, ref := range refs {
		_, err := c.client.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{
			Namespace: c.to.namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: ref.Workflow, RunId: ref.Run},
		})
		if err != nil {
			c.lines.emit(slog.LevelDebug, "client", "session stays with the worker of its last process", []any{"workflow_id", ref.Workflow, "error", err})
		}
	}
}
