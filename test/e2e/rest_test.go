package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const careful = `"apiVersion":"agentic.cadre.dev/v1","kind":"Agent","spec":{"instructions":"Be careful with it."}`

func TestAgentsOverREST(t *testing.T) {
	t.Parallel()
	s := shared(t)
	body := `{"agent":{"metadata":{"slug":"resty","labels":{"over":"rest"}},` + careful + `}}`
	if got := dig(call(t, s, "POST", "/v1/agents:apply", body).object(t), "outcome"); got != "created" {
		t.Errorf("the first apply is %v", got)
	}
	applied := call(t, s, "POST", "/v1/agents:apply", strings.Replace(body, "resty", "resty2", 1)).object(t)
	id, _ := dig(applied, "agent", "metadata", "id").(string)
	if !strings.HasPrefix(id, "agt_") || dig(applied, "agent", "metadata", "audit", "created", "by") != "operator" {
		t.Errorf("applied %v", applied)
	}
	for _, ref := range []string{"resty2", "default/resty2", id} {
		if got := dig(call(t, s, "GET", "/v1/agents/"+ref, "").object(t), "metadata", "id"); got != id {
			t.Errorf("GET %s answers %v, want %s", ref, got, id)
		}
	}
	list := call(t, s, "GET", "/v1/agents?filter=labels.over%3Drest&order_by=slug&pageSize=10", "").object(t)
	if agents, _ := list["agents"].([]any); len(agents) != 2 || dig(agents[0], "metadata", "slug") != "resty" {
		t.Errorf("the list is %v", list)
	}
	create := strings.Replace(body, "resty", "resty3", 1)
	if got := dig(call(t, s, "POST", "/v1/agents", create).object(t), "metadata", "slug"); got != "resty3" {
		t.Errorf("created %v", got)
	}
	again := call(t, s, "POST", "/v1/agents", create)
	if reason, _, _ := again.failure(t).info(); again.status != http.StatusConflict || reason != "ALREADY_EXISTS" {
		t.Errorf("a second create gave %d %s", again.status, again.body)
	}
	if got := dig(call(t, s, "DELETE", "/v1/agents/resty3", "").object(t), "metadata", "slug"); got != "resty3" {
		t.Errorf("deleted %v", got)
	}
	if gone := call(t, s, "GET", "/v1/agents/resty3", ""); gone.status != http.StatusNotFound {
		t.Errorf("a deleted agent gave %d", gone.status)
	}
}

func TestASessionOverREST(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "rest-speaker", script(t, say))
	run := call(t, s, "POST", "/v1/sessions:run", `{"agent":"rest-speaker","message":"hello"}`).object(t)
	session, _ := dig(run, "session", "metadata", "id").(string)
	execution, _ := dig(run, "execution", "metadata", "id").(string)
	if dig(run, "execution", "status", "phase") != "queued" {
		t.Errorf("the run answered %v", run)
	}
	s.AwaitType(t, session, "turn.completed", 1)

	transcript := call(t, s, "GET", "/v1/sessions/"+session+"/transcript", "").object(t)
	turns, _ := transcript["turns"].([]any)
	if len(turns) != 1 || dig(turns[0], "executionId") != execution || dig(turns[0], "phase") != "completed" {
		t.Fatalf("the transcript is %v", transcript)
	}
	entries, _ := dig(turns[0], "entries").([]any)
	if len(entries) != 2 || dig(entries[0], "user") != "hello" || dig(entries[1], "assistant") != "You said: hello" {
		t.Errorf("the entries are %v", entries)
	}

	events := call(t, s, "GET", "/v1/sessions/"+session+"/events?filter.types=turn.*&limit=2", "").object(t)
	page, _ := events["events"].([]any)
	next, _ := events["next"].(string)
	if len(page) != 2 || dig(page[0], "type") != "turn.queued" || dig(page[1], "type") != "turn.started" || next == "" {
		t.Fatalf("the first page is %v", events)
	}
	rest := call(t, s, "GET", fmt.Sprintf("/v1/sessions/%s/events?filter.types=turn.*&limit=2&after=%s", session, next), "").object(t)
	if page, _ := rest["events"].([]any); len(page) != 1 || dig(page[0], "type") != "turn.completed" || rest["next"] != nil {
		t.Errorf("the second page is %v", rest)
	}

	sent := call(t, s, "POST", "/v1/sessions/"+session+"/messages", `{"message":"more"}`).object(t)
	s.AwaitType(t, session, "turn.completed", 2)
	if got := call(t, s, "GET", fmt.Sprint("/v1/agentexecutions/", dig(sent, "execution", "metadata", "id")), "").object(t); dig(got, "status", "phase") != "completed" {
		t.Errorf("the second turn is %v", got)
	}
	if got := call(t, s, "POST", "/v1/sessions/"+session+":cancel", `{}`).object(t); got["executions"] != nil {
		t.Errorf("a cancel of nothing ended %v", got)
	}
	if got := call(t, s, "GET", "/v1/sessions/"+session, "").object(t); dig(got, "status", "phase") != "idle" || dig(got, "status", "lastSeq") == nil {
		t.Errorf("the session is %v", got)
	}
	if got := call(t, s, "DELETE", "/v1/sessions/"+session, ""); got.status != http.StatusOK {
		t.Errorf("the delete gave %d %s", got.status, got.body)
	}
	if got := call(t, s, "GET", "/v1/sessions/"+session+"/transcript", ""); got.status != http.StatusNotFound {
		t.Errorf("the transcript of a deleted session gave %d", got.status)
	}
}
