package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// A cursor from before what retention removed is refused by name on every wire; from
// the beginning what is left can be read, and the transcript is whole.
func TestOldCursorsAreRefusedByName(t *testing.T) {
	t.Parallel()
	offset := filepath.Join(t.TempDir(), "offset")
	s, err := built.Hurt(t, filepath.Join(t.TempDir(), "data"), "CADRE_RETENTION=1h", "CADRE_CLOCK_OFFSET_FILE="+offset)
	if err != nil {
		t.Fatal(err)
	}
	agent(t, s, "talker", script(t, chatter), "list")
	session, _ := run(t.Context(), t, s, &sessionv1.RunAgentRequest{Agent: "talker", Message: "go", Workspace: local(t.TempDir())})
	s.AwaitType(t, session, "turn.completed", 1)
	if err := errors.Join(s.Stop(), os.WriteFile(offset, []byte("2h"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.Start(t) // two hours later
	removed := thinned(t, s, session)
	path := "/v1/sessions/" + session + "/events"
	for name, a := range map[string]answer{
		"a page":              call(t, s, http.MethodGet, path+"?after=2", ""),
		"a stream":            call(t, s, http.MethodGet, path+"/stream?after=2", ""),
		"a stream's last id":  call(t, s, http.MethodGet, path+"/stream", "", "Last-Event-ID", "2"),
		"a page of the tree":  call(t, s, http.MethodGet, path+"?after=2&filter.tree=true", ""),
		"a filtered page":     call(t, s, http.MethodGet, path+"?after=2&filter.types=turn.completed", ""),
		"one before the last": call(t, s, http.MethodGet, path+"?after="+strconv.FormatInt(removed-1, 10), ""),
	} {
		reason, _, meta := a.failure(t).info()
		if reason != "CURSOR_TOO_OLD" || meta["oldest"] != strconv.FormatInt(removed, 10) || a.status != http.StatusBadRequest {
			t.Errorf("%s answers %d: %s", name, a.status, a.body)
		}
	}
	stream, err := s.Sessions().SubscribeEvents(t.Context(), connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: session, After: "2"}))
	if err == nil {
		stream.Receive()
		err = stream.Err()
	}
	if connect.CodeOf(err) != connect.CodeOutOfRange {
		t.Errorf("over Connect it says %v", err)
	}
	if a := call(t, s, http.MethodGet, path+"?after="+strconv.FormatInt(removed, 10), ""); a.status != http.StatusOK {
		t.Errorf("after the oldest it answers %d: %s", a.status, a.body)
	}
	open(t, s, session, "", "").until(t, "turn.completed", 1)
	transcript := call(t, s, http.MethodGet, "/v1/sessions/"+session+"/transcript", "")
	if transcript.status != http.StatusOK || !strings.Contains(transcript.body, "And the end of it all.") {
		t.Errorf("the transcript is %d: %s", transcript.status, transcript.body)
	}
	measured(t, s)
}

// thinned waits until retention was there, and answers how far it removed.
func thinned(t *testing.T, s *built.Server, session string) int64 {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		res, err := s.Sessions().Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: session}))
		if err != nil {
			t.Fatal(err)
		}
		if n := res.Msg.GetStatus().GetRemovedSeq(); n > 2 {
			return n
		}
	}
	t.Fatal("retention removed nothing")
	return 0
}

// measured reads the measurements, which are for those with a token and name no tenant.
func measured(t *testing.T, s *built.Server) {
	t.Helper()
	a := call(t, s, http.MethodGet, "/metrics", "")
	if a.status != http.StatusOK || !strings.Contains(a.body, `cadre_store_calls_total{cadre_result="ok",cadre_store_driver="sqlite",cadre_store_method="trim"}`) {
		t.Errorf("the measurements are %d: %.2000s", a.status, a.body)
	}
	for _, word := range []string{"ses_", "aex_", "talker", "default"} {
		if strings.Contains(a.body, word) {
			t.Errorf("the measurements name %q", word)
		}
	}
	if a := send(t, bare(), http.MethodGet, s.URL+"/metrics", ""); a.status != http.StatusUnauthorized {
		t.Errorf("without a token they answer %d", a.status)
	}
}
