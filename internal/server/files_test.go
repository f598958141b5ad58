package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/artifact/folder"
	"github.com/cadre-dev/cadre/internal/fault"
)

// filed is a Files over one artifact, and the signed address of it.
func filed(t *testing.T, now *time.Time) (http.Handler, string) {
	t.Helper()
	store, err := folder.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := store.Put(t.Context(), strings.NewReader("<b>bytes</b>"))
	if err != nil {
		t.Fatal(err)
	}
	f := NewFiles(store, func() time.Time { return *now })
	link, expires := f.Link(&artifactv1.Artifact{
		Metadata: &resourcev1.Metadata{Id: "art_1", Name: `a "page".html`},
		Spec:     &artifactv1.ArtifactSpec{Sha256: kept.SHA256, MediaType: "text/html", Size: kept.Size},
	})
	if d := expires.Sub(*now); d > linkLife || d < linkLife-2*time.Second {
		t.Errorf("the address holds for %s", d)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+filesPath+"{artifact}/content", f.serve(func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, fault.ReasonOf(err), http.StatusForbidden)
	}))
	return mux, link
}

func fetch(h http.Handler, link string) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, link, nil))
	return w.Result()
}

func TestASignedAddressGivesTheBytesAsAnAttachment(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h, link := filed(t, &now)
	res := fetch(h, link)
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || string(body) != "<b>bytes</b>" {
		t.Fatalf("got %s %q %v", res.Status, body, err)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html", "Content-Disposition": `attachment; filename="a \"page\".html"`, "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox", "Cache-Control": "private, no-store",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if res.Header.Get("Set-Cookie") != "" {
		t.Error("a cookie is set")
	}
}

// Whatever of the address is changed, it is refused; and so is one that has expired.
func TestAChangedAddressIsRefused(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h, link := filed(t, &now)
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{u.Path, strings.Replace(link, "art_1", "art_2", 1), link + "&more=1"}
	for name := range u.Query() {
		q := u.Query()
		q.Set(name, q.Get(name)+"0")
		bad = append(bad, u.Path+"?"+q.Encode())
		q.Del(name)
		bad = append(bad, u.Path+"?"+q.Encode())
	}
	for _, l := range bad {
		if res := fetch(h, l); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s gives %s", l, res.Status)
		}
	}
	now = now.Add(linkLife)
	if res := fetch(h, link); res.StatusCode != http.StatusForbidden {
		t.Errorf("an expired address gives %s", res.Status)
	}
}

// Another process has another key.
func TestAnAddressEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	now := time.Now()
	_, link := filed(t, &now)
	other, _ := filed(t, &now)
	if res := fetch(other, link); res.StatusCode != http.StatusForbidden {
		t.Errorf("the address of another process gives %s", res.Status)
	}
}
