package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
)

// domain is the domain of every reason.
const domain = "cadre.dev"

// codes maps the codes of faults to those of the wire. Only this package knows both.
var codes = map[fault.Code]connect.Code{
	fault.Canceled: connect.CodeCanceled, fault.InvalidArgument: connect.CodeInvalidArgument, fault.DeadlineExceeded: connect.CodeDeadlineExceeded,
	fault.NotFound: connect.CodeNotFound, fault.AlreadyExists: connect.CodeAlreadyExists, fault.PermissionDenied: connect.CodePermissionDenied,
	fault.ResourceExhausted: connect.CodeResourceExhausted, fault.FailedPrecondition: connect.CodeFailedPrecondition, fault.Aborted: connect.CodeAborted,
	fault.OutOfRange: connect.CodeOutOfRange, fault.Unimplemented: connect.CodeUnimplemented, fault.Internal: connect.CodeInternal,
	fault.Unavailable: connect.CodeUnavailable, fault.Unauthenticated: connect.CodeUnauthenticated,
}

// toWire makes the error that the caller gets and logs the rest under the same id.
func (d *Dispatcher) toWire(ctx context.Context, procedure string, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || fault.ReasonOf(err) == "CALLER_GONE") {
		return connect.NewError(connect.CodeCanceled, errors.New("the caller left"))
	}
	f := fault.From(err)
	errorID := id.New("err")
	level := d.log.InfoContext
	if f.Code == fault.Internal || f.Code == fault.Unavailable {
		level = d.log.ErrorContext
	}
	level(ctx, "request failed", "procedure", procedure, "error_id", errorID, "code", string(f.Code), "reason", f.Reason, "error", f.Error())
	return wireError(f, errorID)
}

func wireError(f *fault.Fault, errorID string) *connect.Error {
	code, ok := codes[f.Code]
	if !ok {
		code = connect.CodeInternal
	}
	out := connect.NewError(code, errors.New(f.Message))
	info := &errdetails.ErrorInfo{Reason: f.Reason, Domain: domain, Metadata: map[string]string{"error_id": errorID}}
	for k, v := range f.Meta {
		info.Metadata[k] = v
	}
	if f.Retryable {
		info.Metadata["retryable"] = "true"
	}
	addDetail(out, info)
	if len(f.Violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range f.Violations {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Text, Reason: v.Rule})
		}
		addDetail(out, bad)
	}
	out.Meta().Set("Cadre-Error-Id", errorID)
	return out
}

func addDetail(e *connect.Error, m interface {
	connectMessage
}) {
	if d, err := connect.NewErrorDetail(m); err == nil {
		e.AddDetail(d)
	}
}

// httpStatus is the status of a code on plain HTTP.
var httpStatus = map[connect.Code]int{
	connect.CodeCanceled: 499, connect.CodeInvalidArgument: 400, connect.CodeDeadlineExceeded: 504, connect.CodeNotFound: 404,
	connect.CodeAlreadyExists: 409, connect.CodePermissionDenied: 403, connect.CodeResourceExhausted: 429, connect.CodeFailedPrecondition: 400,
	connect.CodeAborted: 409, connect.CodeOutOfRange: 400, connect.CodeUnimplemented: 501, connect.CodeInternal: 500,
	connect.CodeUnavailable: 503, connect.CodeUnauthenticated: 401,
}

// refuse answers a plain HTTP request, one of no RPC, in the form that the REST
// paths use, and logs it as all errors are.
func (d *Dispatcher) refuse(w http.ResponseWriter, r *http.Request, err error) {
	d.refuseWith(w, r, 0, err)
}

// refuseWith is refuse with a status of its own; 0 is that of the code.
func (d *Dispatcher) refuseWith(w http.ResponseWriter, r *http.Request, status int, err error) {
	var e *connect.Error
	if !errors.As(err, &e) && !errors.As(d.toWire(r.Context(), r.URL.Path, err), &e) {
		e = wireError(fault.From(err), id.New("err"))
	}
	if status == 0 {
		status = http.StatusInternalServerError
		if known, ok := httpStatus[e.Code()]; ok {
			status = known
		}
	}
	w.Header().Set("Content-Type", "application/json")
	for k, v := range e.Meta() {
		if strings.HasPrefix(k, "Cadre-") {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(errorJSON(e), '\n'))
}

// errorJSON is an error in the form that the REST paths use, on one line.
func errorJSON(err error) []byte {
	var e *connect.Error
	if !errors.As(err, &e) {
		e = wireError(fault.From(err), id.New("err"))
	}
	body := map[string]any{"code": int(e.Code()), "message": e.Message()}
	var details []json.RawMessage
	for _, detail := range e.Details() {
		if m, derr := detail.Value(); derr == nil {
			if data, jerr := anyJSON(m); jerr == nil {
				details = append(details, data)
			}
		}
	}
	if details != nil {
		body["details"] = details
	}
	data, merr := json.Marshal(body)
	if merr != nil {
		return []byte("{}") // numbers and texts always encode
	}
	return data
}
