package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1/artifactv1connect"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// upload is a file over REST.
func upload(name, content string) string {
	return fmt.Sprintf(`{"name":%q,"content":%q}`, name, base64.StdEncoding.EncodeToString([]byte(content)))
}

// plainly fetches an address without a token.
func plainly(t *testing.T, url string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, body: string(body)}
}

func TestAFileGoesUpAndComesDown(t *testing.T) {
	t.Parallel()
	s := shared(t)
	made := call(t, s, "POST", "/v1/artifacts", upload("note.txt", "remember\n")).object(t)
	id, _ := dig(made, "metadata", "id").(string)
	if !strings.HasPrefix(id, "art_") || dig(made, "spec", "mediaType") != "text/plain; charset=utf-8" || dig(made, "spec", "size") != "9" {
		t.Fatalf("the upload answers %v", made)
	}
	link := call(t, s, "GET", "/v1/artifacts/"+id+":download", "").object(t)
	address, _ := link["url"].(string)
	if got := plainly(t, s.URL+address); got.status != http.StatusOK || got.body != "remember\n" {
		t.Errorf("the address gives %d %q", got.status, got.body)
	}
	wrong := plainly(t, s.URL+strings.Replace(address, "signature=", "signature=0", 1))
	if reason, _, _ := wrong.failure(t).info(); wrong.status != http.StatusForbidden || reason != "ADDRESS_INVALID" {
		t.Errorf("a wrong signature gives %d %s", wrong.status, wrong.body)
	}

	// The same key gives the same artifact.
	once := strings.Replace(upload("once.txt", "x"), "{", `{"idempotencyKey":"files-once",`, 1)
	first := dig(call(t, s, "POST", "/v1/artifacts", once).object(t), "metadata", "id")
	if again := dig(call(t, s, "POST", "/v1/artifacts", once).object(t), "metadata", "id"); again != first {
		t.Errorf("a repeated upload made %v beside %v", again, first)
	}
}

func TestUploadsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	s := shared(t)
	for body, want := range map[string]string{
		upload("../up.txt", "x"):     "BAD_UPLOAD",
		upload("a/b.txt", "x"):       "BAD_UPLOAD",
		upload("..", "x"):            "BAD_UPLOAD",
		upload("empty.txt", ""):      "VALIDATION_FAILED",
		upload("", "x"):              "VALIDATION_FAILED",
		`{"name":"a","content":"!"}`: "BAD_REQUEST",
		strings.Replace(upload("a.txt", "x"), "{", `{"mediaType":"nonsense/",`, 1): "BAD_UPLOAD",
		strings.Replace(upload("a.txt", "x"), "{", `{"org":"nowhere",`, 1):         "NOT_FOUND",
	} {
		got := call(t, s, "POST", "/v1/artifacts", body)
		if reason, _, _ := got.failure(t).info(); reason != want && !(want == "BAD_REQUEST" && got.status == http.StatusBadRequest) {
			t.Errorf("%s gives %d %s, want %s", body, got.status, got.body, want)
		}
	}
}

// The largest upload is far beyond the largest other request.
func TestALargeFileGoesUp(t *testing.T) {
	t.Parallel()
	s := shared(t)
	artifacts := artifactv1connect.NewArtifactServiceClient(s.HTTP(), s.URL)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for name, opts := range map[string][]connect.ClientOption{"binary": nil, "JSON": {connect.WithProtoJSON()}} {
		client := artifacts
		if opts != nil {
			client = artifactv1connect.NewArtifactServiceClient(s.HTTP(), s.URL, opts...)
		}
		res, err := client.Create(t.Context(), connect.NewRequest(&artifactv1.CreateArtifactRequest{Name: "big.bin", Content: big}))
		if err != nil || res.Msg.GetSpec().GetSize() != 16<<20 {
			t.Fatalf("%s: 16 MiB give %v, %v", name, res, err)
		}
	}
	_, err := artifacts.Create(t.Context(), connect.NewRequest(&artifactv1.CreateArtifactRequest{Name: "big.bin", Content: append(big, 'x')}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a byte more gives %v", err)
	}
	_, err = s.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{Agent: "none", Message: strings.Repeat("x", 5<<20)}))
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("a message of 5 MiB gives %v", err)
	}
}

// dot is a PNG image of one pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

func TestAttachmentsAreChecked(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "attached", script(t, say))
	image := dig(call(t, s, "POST", "/v1/artifacts", upload("dot.png", dot)).object(t), "metadata", "id")
	binary := dig(call(t, s, "POST", "/v1/artifacts", upload("prog", "\x7fELF\x00\x00")).object(t), "metadata", "id")
	fake := dig(call(t, s, "POST", "/v1/artifacts", upload("fake.png", "hello")).object(t), "spec", "mediaType")
	if fake != "text/plain; charset=utf-8" {
		t.Errorf("a text with the name of an image is %v", fake)
	}
	if reason, _, _ := call(t, s, "POST", "/v1/artifacts", strings.Replace(upload("f.png", "hello"), "{", `{"mediaType":"image/png",`, 1)).failure(t).info(); reason != "BAD_UPLOAD" {
		t.Errorf("a text that is said to be an image gives %s", reason)
	}
	large := dig(call(t, s, "POST", "/v1/artifacts", upload("long.txt", strings.Repeat("word ", 120_000))).object(t), "metadata", "id")
	ask := func(ids ...any) answer {
		quoted := make([]string, len(ids))
		for i, one := range ids {
			quoted[i] = fmt.Sprintf("%q", one)
		}
		return call(t, s, "POST", "/v1/sessions:run", fmt.Sprintf(`{"agent":"attached","message":"look","attachments":[%s]}`, strings.Join(quoted, ",")))
	}
	run := ask(image).object(t)
	session, _ := dig(run, "session", "metadata", "id").(string)
	queued := s.AwaitType(t, session, "input.queued", 1)
	for _, e := range queued {
		if a := e.GetInputQueued().GetAttachments(); e.GetInputQueued() != nil && (len(a) != 1 || a[0].GetMediaType() != "image/png" || a[0].GetName() != "dot.png") {
			t.Errorf("the input has %v", a)
		}
	}
	for _, test := range []struct {
		id   any
		want string
	}{{binary, "ATTACHMENT_UNSUPPORTED"}, {large, "ATTACHMENT_UNSUPPORTED"}, {"art_01m8q2sgxpqb6sxprtz0nnz9pt", "NOT_FOUND"}} {
		got := ask(test.id)
		f := got.failure(t)
		if reason, _, _ := f.info(); reason != test.want || len(f.violations()) != 1 || f.violations()[0] != "attachments[0] attachment" {
			t.Errorf("%v gives %d %s, want %s at attachments[0]", test.id, got.status, got.body, test.want)
		}
	}
}

func TestModelsAndUsageOverREST(t *testing.T) {
	t.Parallel()
	s := shared(t)
	list := call(t, s, "GET", "/v1/models?provider=anthropic", "").object(t)
	models, _ := list["models"].([]any)
	if len(models) == 0 || dig(models[0], "price", "asOf") == nil || dig(models[0], "contextWindow") == nil || dig(models[0], "needs") == nil || list["defaultModel"] != nil {
		t.Errorf("the models are %v", list)
	}
	agent(t, s, "counted", script(t, say))
	run := call(t, s, "POST", "/v1/sessions:run", `{"agent":"counted","message":"hello"}`).object(t)
	session, _ := dig(run, "session", "metadata", "id").(string)
	s.AwaitType(t, session, "turn.completed", 1)
	sums := call(t, s, "GET", "/v1/usage?by=session&sessionId="+session, "").object(t)
	groups, _ := sums["groups"].([]any)
	if len(groups) != 1 || dig(groups[0], "key") != session || dig(groups[0], "modelCalls") != "1" || dig(sums, "total", "modelCalls") != "1" {
		t.Errorf("the usage is %v", sums)
	}
	named := call(t, s, "GET", "/v1/usage?by=agent&agent=counted", "").object(t)
	if groups, _ := named["groups"].([]any); len(groups) != 1 || dig(groups[0], "key") != "counted" {
		t.Errorf("the usage of the agent is %v", named)
	}
	for query, want := range map[string]string{
		"agent=nobody": "NOT_FOUND", "sessionId=aex_1": "BAD_REFERENCE", "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z": "BAD_PERIOD",
	} {
		if reason, _, _ := call(t, s, "GET", "/v1/usage?"+query, "").failure(t).info(); reason != want {
			t.Errorf("%s gives %s, want %s", query, reason, want)
		}
	}
}

func TestASchemaIsCheckedBeforeTheInputIsAccepted(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "schemed", script(t, say))
	got := call(t, s, "POST", "/v1/sessions:run", `{"agent":"schemed","message":"hello","outputSchema":"{\"type\":\"objct\"}"}`)
	f := got.failure(t)
	if reason, _, _ := f.info(); reason != "OUTPUT_SCHEMA_INVALID" || len(f.violations()) != 1 {
		t.Errorf("a wrong schema gives %d %s", got.status, got.body)
	}
	got = call(t, s, "POST", "/v1/sessions:run", `{"agent":"schemed","message":"hello","record":"tape.yaml"}`)
	if reason, _, _ := got.failure(t).info(); reason != "BAD_RECORDING" {
		t.Errorf("a relative recording gives %d %s", got.status, got.body)
	}
}
