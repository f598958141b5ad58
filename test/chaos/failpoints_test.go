package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

const (
	// envRuns is how many places are tried: a number, or all.
	envRuns = "CADRE_FAILPOINT_RUNS"
	// envSeed repeats a run.
	envSeed     = "CADRE_FAILPOINT_SEED"
	defaultRuns = 12
	// playTime bounds one turn without a restart in it.
	playTime = 60 * time.Second
)

// quality.md, Reliability 5: kills before and after each commit, publish and answer.
// A turn is played once to learn every place that it passes, and then once for each
// place of a sample, with the server killed there. CADRE_FAILPOINT_RUNS=all tries
// every one.
func TestKillsAtFailpoints(t *testing.T) {
	t.Parallel()
	seed := number(t, envSeed, uint64(time.Now().UnixNano()))
	t.Logf("%s=%d", envSeed, seed)
	places := sample(t, learn(t), rand.New(rand.NewPCG(seed, 5)))
	var died atomic.Int64
	t.Run("places", func(t *testing.T) {
		for i, place := range places {
			t.Run(place, func(t *testing.T) {
				t.Parallel()
				if playHurt(t, append(dispatch(i), "CADRE_FAILPOINTS="+place)...) {
					died.Add(1)
				}
			})
		}
	})
	if n := int(died.Load()); n < len(places)/2 {
		t.Errorf("the server died in %d of %d runs only: there was too little traffic", n, len(places))
	}
}

// learn plays the turn unharmed and answers the hits of each place.
func learn(t *testing.T) map[string]int {
	t.Helper()
	log := filepath.Join(t.TempDir(), "hits")
	if playHurt(t, "CADRE_FAILPOINTS_LOG="+log) {
		t.Fatal("the server ended without being told to")
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]int{}
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(line, " ")
		hits[name]++
	}
	for _, want := range []string{"commit.accept", "commit.claim", "commit.dispatch", "commit.respond", "commit.start_tools", "commit.finish_tools", "commit.settle", "publish", "ack", "wake", "attempt", "tool", "spawn"} {
		if hits[want+".before"] == 0 || hits[want+".after"] == 0 {
			t.Errorf("the turn does not pass %s: %v", want, hits)
		}
	}
	return hits
}

// sample picks places and hits: every place once before any comes twice.
func sample(t *testing.T, hits map[string]int, random *rand.Rand) []string {
	t.Helper()
	var first, rest []string
	names := make([]string, 0, len(hits))
	for name := range hits {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		chosen := 1 + random.IntN(hits[name])
		for n := 1; n <= hits[name]; n++ {
			place := fmt.Sprintf("%s=kill@%d", name, n)
			if n == chosen {
				first = append(first, place)
			} else {
				rest = append(rest, place)
			}
		}
	}
	for _, s := range [][]string{first, rest} {
		random.Shuffle(len(s), func(i, k int) { s[i], s[k] = s[k], s[i] })
	}
	all := append(first, rest...)
	if os.Getenv(envRuns) == "all" {
		return all
	}
	return all[:min(len(all), int(number(t, envRuns, defaultRuns)))]
}

// hurtScript writes a file and adds a sign behind each of its marks; an edit that is
// made twice adds two, and a command that runs twice writes two lines.
const hurtScript = `
steps:
  - {text: First., tools: [{name: write, args: {path: book.txt, content: "(1)\n(2)\n"}}]}
  - {text: Then., tools: [{name: edit, args: {path: book.txt, old_text: "(1)", new_text: "(1)!"}}]}
  - {text: Run., tools: [{name: shell, args: {command: "echo ran >>journal.txt"}}]}
  - {text: And., tools: [{name: edit, args: {path: book.txt, old_text: "(2)", new_text: "(2)!"}}]}
  - {text: All steps are done.}
`

// hurt is a turn whose server may die at any time, once.
type hurt struct {
	server  *built.Server
	folder  string
	session string
	died    bool
	unknown bool // the outcome of the command is
}

// playHurt plays one turn on a server with failpoints, starts the server again
// without them once it died, and judges what is left. It says whether it died.
func playHurt(t *testing.T, environ ...string) bool {
	t.Helper()
	dir := t.TempDir()
	server, err := built.Hurt(t, filepath.Join(dir, "data"), environ...)
	h := &hurt{server: server, folder: filepath.Join(dir, "work")}
	if err != nil {
		h.restart(t)
	}
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	h.declare(t, filepath.Join(dir, "script.yaml"))
	seen := h.watch(t)
	acknowledged := h.send(t)
	h.outlast(t)
	log := events(t, h.server, h.session)
	h.judgeLog(t, log)
	h.judgeWork(t, acknowledged)
	for _, e := range <-seen {
		if i := int(e.GetSeq()) - 1; i >= len(log) || log[i].GetType() != e.GetType() {
			t.Errorf("a viewer saw event %d, %s, and the log has no such event", e.GetSeq(), e.GetType())
		}
	}
	return h.died
}

// restart runs the server again, without failpoints.
func (h *hurt) restart(t *testing.T) {
	t.Helper()
	if h.died || !h.server.Ended(playTime) {
		t.Fatalf("the server failed and did not die of its failpoint: %s", h.server.LogTail(20))
	}
	h.died = true
	h.server.Env = nil
	h.server.Start(t)
}

// insist makes a call, and once more when the server died under it.
func (h *hurt) insist(t *testing.T, call func() error) {
	t.Helper()
	err := call()
	if err == nil {
		return
	}
	h.restart(t)
	if err := call(); err != nil {
		t.Fatalf("again, after the restart: %v", err)
	}
}

// declare makes the agent and a session without an input, each with a key, so that
// it may be said twice.
func (h *hurt) declare(t *testing.T, script string) {
	t.Helper()
	if err := os.WriteFile(script, []byte(hurtScript), 0o600); err != nil {
		t.Fatal(err)
	}
	h.insist(t, func() error {
		_, err := h.server.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{IdempotencyKey: "agent", Agent: &agentv1.Agent{
			ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "editor"},
			Spec: &agentv1.AgentSpec{Instructions: "Edit step by step.", Model: "scripted:" + script, Tools: []string{"write", "edit", "shell"}},
		}}))
		return err
	})
	h.insist(t, func() error {
		res, err := h.server.Sessions().Create(t.Context(), connect.NewRequest(&sessionv1.CreateSessionRequest{IdempotencyKey: "session", Session: &sessionv1.Session{
			ApiVersion: "agentic.cadre.dev/v1", Kind: "Session", Metadata: &resourcev1.Metadata{},
			Spec: &sessionv1.SessionSpec{Agent: "editor", Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: h.folder}}}},
		}}))
		if err == nil {
			h.session = res.Msg.GetMetadata().GetId()
		}
		return err
	})
}

// watch follows the log until the turn's end or the server's, and answers all that
// a viewer was shown.
func (h *hurt) watch(t *testing.T) <-chan []*eventv1.Event {
	t.Helper()
	out := make(chan []*eventv1.Event, 1)
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	var stream *connect.ServerStreamForClient[sessionv1.Frame]
	h.insist(t, func() (err error) {
		stream, err = h.server.Sessions().SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: h.session}))
		return err
	})
	go func() {
		defer cancel()
		defer func() { _ = stream.Close() }()
		var seen []*eventv1.Event
		for (len(seen) == 0 || seen[len(seen)-1].GetSessionStatusChanged().GetPhase() != sessionv1.SessionPhase_idle.String()) && stream.Receive() {
			if e := stream.Msg().GetEvent(); e != nil {
				seen = append(seen, e)
			}
		}
		out <- seen
	}()
	return out
}

// send gives the input and answers the execution that was acknowledged.
func (h *hurt) send(t *testing.T) string {
	t.Helper()
	var execution string
	h.insist(t, func() error {
		res, err := h.server.Sessions().SendMessage(t.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{
			SessionId: h.session, Message: "Edit.", IdempotencyKey: "input", Approve: agentexecutionv1.ApprovalMode_auto,
		}))
		if err == nil {
			execution = res.Msg.GetExecution().GetMetadata().GetId()
		}
		return err
	})
	return execution
}

// outlast waits for the turn's end, over the server's death; then it ends what is
// left of the server that was hurt, since its last moments count too.
func (h *hurt) outlast(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	for !h.idle(ctx) {
		if ctx.Err() != nil {
			t.Fatal("the turn does not end")
		}
		h.restart(t)
	}
	if h.died {
		return
	}
	err := h.server.Stop()
	h.server.Env = nil
	h.server.Start(t)
	if err != nil {
		t.Error(err)
	}
}

// idle follows the log to the turn's end; false when the stream broke before.
func (h *hurt) idle(ctx context.Context) bool {
	stream, err := h.server.Sessions().SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: h.session}))
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		e := stream.Msg().GetEvent()
		if e.GetSessionStatusChanged().GetPhase() == sessionv1.SessionPhase_idle.String() {
			return true
		}
		if e.GetType() == "turn.waiting" {
			h.goOn(ctx)
		}
	}
	return false
}

// goOn lets a turn go on that waits because the outcome of its command is unknown.
// One that goes on already, or a server that dies, answers an error: the next look
// at the log shows which.
func (h *hurt) goOn(ctx context.Context) {
	_, _ = h.server.Sessions().Recover(ctx, connect.NewRequest(&sessionv1.RecoverRequest{Id: h.session}))
}

// judgeLog checks that the log has no gap, one end, and each call's outcome once.
func (h *hurt) judgeLog(t *testing.T, log []*eventv1.Event) {
	t.Helper()
	done := map[string]int{}
	for i, e := range log {
		if want := int64(i + 1); e.GetSeq() != want || e.GetTreeSeq() != want {
			t.Fatalf("the log has a gap: event %d has the numbers %d and %d", want, e.GetSeq(), e.GetTreeSeq())
		}
		if e.GetAssociation() != eventv1.Association_current {
			t.Errorf("event %d, %s, is %s: an attempt wrote that was gone", e.GetSeq(), e.GetType(), e.GetAssociation())
		}
		switch e.GetType() {
		case "agent.tool.completed":
			done[e.GetAgentToolCompleted().GetCallId()]++
		case "agent.tool.outcome_unknown":
			u := e.GetAgentToolOutcomeUnknown()
			done[u.GetCallId()]++
			h.unknown = true
			if u.GetName() != "shell" {
				t.Errorf("event %d: %v", e.GetSeq(), e)
			}
		case "agent.tool.failed":
			t.Errorf("event %d: %v", e.GetSeq(), e)
		}
	}
	ends := 0
	for _, e := range log {
		if isEnd(e) {
			ends++
		}
	}
	if ends != 1 || count(log, "turn.completed") != 1 || count(log, "input.queued") != 1 {
		t.Errorf("there are %d ends, %d turns completed and %d inputs, want one of each", ends, count(log, "turn.completed"), count(log, "input.queued"))
	}
	if len(done) != 4 {
		t.Errorf("%d calls have an outcome, want 4", len(done))
	}
	for id, n := range done {
		if n != 1 {
			t.Errorf("the call %s has %d outcomes", id, n)
		}
	}
}

// judgeWork checks that every edit was made once, and that the input that was
// acknowledged is the one turn that ran.
func (h *hurt) judgeWork(t *testing.T, execution string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(h.folder, "book.txt")); err != nil || string(data) != "(1)!\n(2)!\n" {
		t.Errorf("not every edit was made exactly once: %q (%v)", data, err)
	}
	data, err := os.ReadFile(filepath.Join(h.folder, "journal.txt"))
	if got := string(data); got != "ran\n" && !(h.unknown && got == "") {
		t.Errorf("the command wrote %q (%v), its outcome is unknown: %t", got, err, h.unknown)
	}
	res, err := h.server.Executions().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	all := res.Msg.GetAgentExecutions()
	if len(all) != 1 || all[0].GetMetadata().GetId() != execution || all[0].GetStatus().GetPhase().String() != "completed" {
		t.Errorf("the turn %s was acknowledged, the ledger holds %v", execution, all)
	}
}
