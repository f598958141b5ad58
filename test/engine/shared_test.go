package engine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/test/built"
)

// crew are servers that share a database.
type crew struct{ url, engine string }

// server starts one of them; without an engine's address its engine is its own.
func (c crew) server(t *testing.T, engine string) *built.Server {
	t.Helper()
	s := built.New(t, filepath.Join(t.TempDir(), "data"))
	s.Env = []string{"CADRE_DATABASE_URL=" + c.url}
	if engine != "" {
		s.Env = append(s.Env, "CADRE_TEMPORAL_ADDRESS="+engine)
	}
	s.Start(t)
	return s
}

// Two servers on one database and one engine work as one: a session streams to
// subscribers on either, whole and in order, a cancel reaches the one that works, and
// what a dead one owned waits for it alone. A third, whose engine is another one, runs
// nothing and says why.
func TestServersShareADatabase(t *testing.T) {
	t.Parallel()
	crew := crew{url: postgrestest.Start(t).URL(t), engine: stand(t).address}
	a, b := crew.server(t, crew.engine), crew.server(t, crew.engine)
	declareTally(t, a, "20ms")
	t.Run("streams", func(t *testing.T) { streamsOnEither(t, a, b) })
	t.Run("cancel", func(t *testing.T) { cancelsOnEither(t, a, b) })
	t.Run("another engine", func(t *testing.T) { runsNothing(t, a, crew.server(t, "")) })
	t.Run("kill", func(t *testing.T) { diesAndComesBack(t, a, b) })
	t.Run("never comes back", func(t *testing.T) { neverComesBack(t, a, b) })
}

func streamsOnEither(t *testing.T, a, b *built.Server) {
	const sessions = 8
	var all sync.WaitGroup
	servers := []*built.Server{a, b}
	var seen [sessions][2][]*eventv1.Event
	for i := range sessions {
		y := beginTally(t, servers[i%2])
		for j, s := range servers {
			all.Go(func() { seen[i][j] = s.AwaitType(t, y.session, "turn.completed", 1) })
		}
		all.Go(func() { y.complete(t) })
	}
	all.Wait()
	for _, both := range seen {
		same(t, both[0], both[1])
		for i, e := range both[0] {
			if e.GetSeq() != int64(i)+1 {
				t.Fatalf("event %d has the number %d", i+1, e.GetSeq())
			}
		}
	}
}

func same(t *testing.T, a, b []*eventv1.Event) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d events came from one server and %d from the other", len(a), len(b))
	}
	for i := range a {
		if !proto.Equal(a[i], b[i]) {
			t.Fatalf("event %d is %v from one server and %v from the other", i+1, a[i], b[i])
		}
	}
}

// cancelTime is how soon a cancel reaches a turn, wherever it was asked for.
const cancelTime = 500 * time.Millisecond

// cancelsOnEither asks each server for the end of the same turns; one of them works.
func cancelsOnEither(t *testing.T, a, b *built.Server) {
	slow := fmt.Sprintf("turns: [{steps: [{delay: 5m, text: %q}]}]\nrepeat: true\n", "never said")
	declare(t, a, "slow", "Wait for a long time.", slow)
	for i := range 6 {
		session := say(t, a, "slow", "go", t.TempDir())
		a.AwaitType(t, session, "agent.model.request", 1)
		asked := []*built.Server{a, b}[i%2]
		if _, err := asked.Sessions().Cancel(t.Context(), connect.NewRequest(&sessionv1.CancelRequest{Id: session})); err != nil {
			t.Fatal(err)
		}
		var requested, cancelled time.Time
		for _, e := range b.AwaitType(t, session, "turn.cancelled", 1) {
			switch e.GetType() {
			case "turn.cancel.requested":
				requested = e.GetOccurredAt().AsTime()
			case "turn.cancelled":
				cancelled = e.GetOccurredAt().AsTime()
			}
		}
		if took := cancelled.Sub(requested); requested.IsZero() || took > cancelTime {
			t.Errorf("the turn ended %v after the request, want at most %v", took, cancelTime)
		}
	}
}

// runsNothing looks at a server whose engine is not the one of the others.
func runsNothing(t *testing.T, a, alone *built.Server) {
	said := alone.MustRun(t, t.TempDir(), "status")
	for _, want := range []string{"degraded", "runs no sessions", "CADRE_TEMPORAL_ADDRESS"} {
		if !strings.Contains(said, want) {
			t.Errorf("the status of a server with another engine lacks %q:\n%s", want, said)
		}
	}
	y := beginTally(t, alone) // accepted there, done by the others
	y.complete(t)
	for _, e := range a.AwaitType(t, y.session, "turn.completed", 1) {
		if e.GetType() == "turn.recovery.requested" {
			t.Errorf("the turn was taken over: %v", e)
		}
	}
	if err := alone.Stop(); err != nil {
		t.Fatal(err)
	}
}

// diesAndComesBack kills the servers in mid-turn, one after the other. What one worked
// on waits for it, what the other works on goes on.
func diesAndComesBack(t *testing.T, a, b *built.Server) {
	declareTally(t, a, "200ms")
	servers := []*built.Server{a, b}
	lost, kept := 0, 0
	for round := range 2 {
		dies, stays := servers[round%2], servers[1-round%2]
		var all []*tally
		for i := range 8 {
			y := beginTally(t, servers[i%2])
			y.server = stays
			all = append(all, y)
		}
		for _, y := range all {
			y.working(t)
		}
		if err := dies.Kill(); err != nil {
			t.Fatal(err)
		}
		dies.Start(t)
		for _, y := range all {
			y.complete(t)
			if count(stays.AwaitType(t, y.session, "turn.completed", 1), "turn.recovery.requested") > 0 {
				lost++
			} else {
				kept++
			}
		}
	}
	t.Logf("%d turns were on a server that died, and %d on the one that stayed", lost, kept)
	if lost == 0 || kept == 0 {
		t.Errorf("%d turns were taken up anew and %d went on; the test wants some of both", lost, kept)
	}
}

// neverComesBack kills a server in mid-turn and says that it is gone: the other goes on
// with its turns. Before that word they wait.
func neverComesBack(t *testing.T, a, gone *built.Server) {
	declareTally(t, a, "200ms")
	var all []*tally
	for i := range 8 {
		y := beginTally(t, []*built.Server{a, gone}[i%2])
		y.server = a
		all = append(all, y)
	}
	for _, y := range all {
		y.working(t)
	}
	data, err := os.ReadFile(filepath.Join(gone.Data, "node.id"))
	if err != nil {
		t.Fatal(err)
	}
	node := strings.TrimSpace(string(data))
	if err := gone.Kill(); err != nil {
		t.Fatal(err)
	}
	if r := a.Run(t, t.TempDir(), "nodes", "forget", node); r.Code == 0 || !strings.Contains(r.Err, "is alive") {
		t.Errorf("a server that was heard just now was forgotten: exit %d, %s%s", r.Code, r.Out, r.Err)
	}
	row := silent(t, a, node)
	waiting := len(row.Turns)
	if waiting == 0 {
		t.Fatal("no turn waits for the dead server")
	}
	t.Logf("%d turns wait for the dead server", waiting)
	saysWhoIsSilent(t, a, all, node, waiting)
	a.MustRun(t, t.TempDir(), "nodes", "forget", node)
	for _, y := range all {
		y.complete(t)
	}
	if said := a.MustRun(t, t.TempDir(), "nodes", "-o", "name"); strings.Contains(said, node) {
		t.Errorf("the forgotten server is still listed:\n%s", said)
	}
	if r := a.Run(t, t.TempDir(), "nodes", "forget", node); r.Code == 0 || !strings.Contains(r.Err, "no server") {
		t.Errorf("a server that is not there was forgotten: exit %d, %s%s", r.Code, r.Out, r.Err)
	}
}

// saysWhoIsSilent looks at what a server says of sessions that wait for a dead one.
func saysWhoIsSilent(t *testing.T, a *built.Server, all []*tally, node string, waiting int) {
	stalled := ""
	for _, y := range all {
		res, err := a.Sessions().Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: y.session}))
		if err != nil {
			t.Fatal(err)
		}
		if said := res.Msg.GetStatus().GetStalled(); said != "" {
			stalled = y.session
			waiting--
			if !strings.Contains(said, "server "+node) || !strings.Contains(said, "cadre nodes forget "+node) {
				t.Errorf("a session that waits for %s says %q", node, said)
			}
		}
	}
	if waiting != 0 || stalled == "" {
		t.Fatalf("%d more turns wait for the dead server than sessions say so", waiting)
	}
	for _, line := range [][]string{{"get", "session", stalled}, {"sessions"}, {"status"}} {
		if r := a.Run(t, t.TempDir(), line...); r.Code != 0 || !strings.Contains(r.Out+r.Err, "cadre nodes forget "+node) {
			t.Errorf("cadre %s says exit %d, %s%s", strings.Join(line, " "), r.Code, r.Out, r.Err)
		}
	}
	if r := a.Run(t, t.TempDir(), "doctor"); r.Code == 0 || !strings.Contains(r.Out, "other servers") || !strings.Contains(r.Out, "cadre nodes forget "+node) {
		t.Errorf("cadre doctor says exit %d, %s%s", r.Code, r.Out, r.Err)
	}
	if said := attachUntil(t, a, stalled, "does not go on"); !strings.Contains(said, node) {
		t.Errorf("cadre attach says %q", said)
	}
}

// attachUntil watches a session until the command prints a text, and answers that line.
func attachUntil(t *testing.T, s *built.Server, session, text string) string {
	t.Helper()
	cmd := s.Command(t, t.TempDir(), "attach", session)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return lines.Text()
		}
	}
	t.Errorf("cadre attach ended and never said %q", text)
	return ""
}

type nodeRow struct {
	ID    string   `json:"id"`
	Alive bool     `json:"alive"`
	Turns []string `json:"turns"`
}

// silent waits until a server is not taken for alive any more.
func silent(t *testing.T, s *built.Server, node string) nodeRow {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range 60 {
		var rows []nodeRow
		if err := json.Unmarshal([]byte(s.MustRun(t, t.TempDir(), "nodes", "-o", "json")), &rows); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(rows, func(r nodeRow) bool { return r.ID == node })
		if i < 0 {
			t.Fatalf("the dead server is not listed: %v", rows)
		}
		if !rows[i].Alive {
			return rows[i]
		}
		<-tick.C
	}
	t.Fatal("the dead server is taken for alive for a minute")
	return nodeRow{}
}
