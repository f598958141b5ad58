package server

import (
	"context"
	"log/slog"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1/serverv1connect"
	"github.com/cadre-dev/cadre/internal/license"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// LicenseVerb answers GetLicenseStatus. It owns the clock: the provider judges for the very
// instant that the answer names.
func LicenseVerb(d pipeline.Deps, p license.Provider, log *slog.Logger) pipeline.Verb {
	return pipeline.Verb{
		Procedure: serverv1connect.ServerServiceGetLicenseStatusProcedure, Permission: "view",
		Output: func() proto.Message { return &serverv1.LicenseStatus{} },
		Steps: []pipeline.Step{pipeline.Authorize(d, "view", resourcev1.ResourceKind_license), pipeline.Validate(d), {Name: "judge", Do: func(ctx context.Context, r *pipeline.Request) error {
			now := d.Now()
			report, err := p.Status(ctx, now)
			if err == nil {
				err = report.Check()
			}
			if err != nil {
				return err
			}
			if report.Reason != "" {
				log.WarnContext(ctx, "the license ticket is not trusted", "key", report.KeyID, "reason", report.Reason)
			}
			r.Answer = &serverv1.LicenseStatus{State: report.State, Claims: report.Claims, KeyId: report.KeyID, CheckedAt: timestamppb.New(now)}
			return nil
		}}},
	}
}
