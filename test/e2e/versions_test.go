package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

func TestAnOutdatedChangeIsRefusedWithTheCurrentVersion(t *testing.T) {
	t.Parallel()
	s := shared(t)
	read := agent(t, s, "versioned", "")
	change := func(from *agentv1.Agent, words string) (*agentv1.Agent, error) {
		a := proto.Clone(from).(*agentv1.Agent)
		a.Spec.Description = words
		res, err := s.Agents().Update(t.Context(), connect.NewRequest(&agentv1.UpdateAgentRequest{Agent: a}))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	second, err := change(read, "second")
	if err != nil || second.GetMetadata().GetVersion().GetNumber() != 2 {
		t.Fatalf("got %v, %v", second, err)
	}
	_, err = change(read, "late")
	code, info := wireError(t, err)
	if code != connect.CodeAborted || info.GetReason() != "STALE_VERSION" || info.GetMetadata()["version"] != "2" {
		t.Errorf("an outdated update gave %v with %v", err, info)
	}
	_, err = s.Agents().Delete(t.Context(), connect.NewRequest(&resourcev1.DeleteRequest{Ref: "versioned", Version: 1}))
	if code, info := wireError(t, err); code != connect.CodeAborted || info.GetMetadata()["version"] != "2" {
		t.Errorf("an outdated delete gave %v with %v", err, info)
	}
	unread := proto.Clone(second).(*agentv1.Agent)
	unread.Metadata.Version = nil
	if _, err := change(unread, "blind"); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("an update without a version gave %v", err)
	}
	now, err := s.Agents().Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: "versioned"}))
	if err != nil || now.Msg.GetSpec().GetDescription() != "second" {
		t.Errorf("the agent is %v, %v", now, err)
	}
}

func TestOfManyChangesOfOneVersionOneWins(t *testing.T) {
	t.Parallel()
	s := shared(t)
	read := agent(t, s, "contended", "")
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			a := proto.Clone(read).(*agentv1.Agent)
			a.Spec.Description = fmt.Sprint("writer ", i)
			_, err := s.Agents().Update(t.Context(), connect.NewRequest(&agentv1.UpdateAgentRequest{Agent: a}))
			switch connect.CodeOf(err) {
			case connect.CodeAborted:
			default:
				if err != nil {
					t.Error(err)
					return
				}
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d changes of one version were made", won.Load())
	}
}

func TestPageTokens(t *testing.T) {
	t.Parallel()
	s := shared(t)
	const n = 7
	for i := range n {
		res, err := s.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
			ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent",
			Metadata: &resourcev1.Metadata{Slug: fmt.Sprintf("paged-%d", i), Labels: map[string]string{"paged": "yes"}},
			Spec:     &agentv1.AgentSpec{Instructions: "Be careful with it."},
		}}))
		if err != nil {
			t.Fatal(res, err)
		}
	}
	req := func() *resourcev1.ListRequest {
		return &resourcev1.ListRequest{Filter: "labels.paged = yes", OrderBy: "slug desc", PageSize: 3}
	}
	list := func(r *resourcev1.ListRequest) (*agentv1.ListAgentsResponse, error) {
		res, err := s.Agents().List(t.Context(), connect.NewRequest(r))
		if err != nil {
			return nil, err
		}
		return res.Msg, nil
	}
	var seen []string
	var token string
	for page := 0; page == 0 || token != ""; page++ {
		r := req()
		r.PageToken = token
		res, err := list(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range res.GetAgents() {
			seen = append(seen, a.GetMetadata().GetSlug())
		}
		if token = res.GetNextPageToken(); page > n {
			t.Fatal("the pages do not end")
		}
	}
	if want := "[paged-6 paged-5 paged-4 paged-3 paged-2 paged-1 paged-0]"; fmt.Sprint(seen) != want {
		t.Errorf("the pages hold %v, want %s", seen, want)
	}
	first, err := list(req())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*resourcev1.ListRequest){
		"filter":       func(r *resourcev1.ListRequest) { r.Filter = "labels.paged = no" },
		"order":        func(r *resourcev1.ListRequest) { r.OrderBy = "slug" },
		"organization": func(r *resourcev1.ListRequest) { r.Org = "another" },
	} {
		r := req()
		r.PageToken = first.GetNextPageToken()
		change(r)
		_, err := list(r)
		if code, info := wireError(t, err); code != connect.CodeInvalidArgument || info.GetReason() != "PAGE_TOKEN_OF_OTHER_LIST" {
			t.Errorf("another %s gave %v", name, err)
		}
	}
	r := req()
	r.PageToken = "nonsense"
	if _, err := list(r); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a made-up token gave %v", err)
	}
}
