package server

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1/serverv1connect"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// OpenSource is the edition of a server that is composed of nothing more.
const OpenSource = "open_source"

// Facts are what GetServerInfo tells, besides the health of the moment.
type Facts struct {
	Version   string
	Edition   string // "" is OpenSource
	BootID    string
	StartedAt time.Time
	Kinds     []string
	Providers []string
	Tools     []string
	Store     string
	Engine    string
	// Notices are what a person should know although the server is well; nil for none.
	Notices func(context.Context) []string
}

// InfoVerb answers GetServerInfo, without a token.
func InfoVerb(f Facts, health Health) pipeline.Verb {
	return pipeline.Verb{
		Procedure: serverv1connect.ServerServiceGetServerInfoProcedure, Public: true,
		Output: func() proto.Message { return &serverv1.ServerInfo{} },
		Steps: []pipeline.Step{{Name: "describe", Do: func(ctx context.Context, r *pipeline.Request) error {
			info := &serverv1.ServerInfo{
				Version: f.Version, Edition: cmp.Or(f.Edition, OpenSource), BootId: f.BootID, StartedAt: timestamppb.New(f.StartedAt), Health: "ok",
				Kinds: f.Kinds, ModelProviders: f.Providers, Tools: f.Tools, Store: f.Store, Engine: f.Engine,
			}
			if reasons := health(ctx); len(reasons) > 0 {
				info.Health, info.Degraded = "degraded", reasons
			}
			if f.Notices != nil {
				info.Notices = f.Notices(ctx)
			}
			r.Answer = info
			return nil
		}}},
	}
}
