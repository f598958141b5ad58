package server

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/fault"
)

// linkLife is how long a signed address can be used.
const linkLife = 15 * time.Minute

// Files serves the bytes of artifacts by signed address. Whoever has an address can
// read what it names until it expires, or the process ends: the key is new each time.
type Files struct {
	store artifact.Store
	now   func() time.Time
	key   []byte
}

// NewFiles makes one over a store.
func NewFiles(store artifact.Store, now func() time.Time) *Files {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &Files{store: store, now: now, key: key}
}

// Link signs an address for an artifact: path and query below the server's own.
func (f *Files) Link(m *artifactv1.Artifact) (string, time.Time) {
	expires := f.now().Add(linkLife).Truncate(time.Second)
	q := url.Values{
		"sha256": {m.GetSpec().GetSha256()}, "type": {m.GetSpec().GetMediaType()}, "name": {m.GetMetadata().GetName()},
		"expires": {strconv.FormatInt(expires.Unix(), 10)},
	}
	id := m.GetMetadata().GetId()
	q.Set("signature", f.sign(id, q))
	return filesPath + url.PathEscape(id) + "/content?" + q.Encode(), expires
}

const filesPath = "/v1/artifacts/"

// sign covers everything that the address says. q has no signature yet.
func (f *Files) sign(id string, q url.Values) string {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(id + "?" + q.Encode()))
	return hex.EncodeToString(mac.Sum(nil))
}

// check reads an address again. The fault does not tell which part is wrong.
func (f *Files) check(r *http.Request) (url.Values, error) {
	q := r.URL.Query()
	signature := q.Get("signature")
	q.Del("signature")
	expires, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	if err != nil || !hmac.Equal([]byte(signature), []byte(f.sign(r.PathValue("artifact"), q))) || f.now().Unix() >= expires {
		return nil, fault.New(fault.PermissionDenied, "ADDRESS_INVALID", "the address of the file is not valid, or no longer: ask for a new one with ArtifactService.Download")
	}
	return q, nil
}

// serve answers one address. The browser is told to save the file, not to show it.
func (f *Files) serve(fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := f.check(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		in, err := f.store.Open(r.Context(), q.Get("sha256"))
		if err != nil {
			fail(w, r, err)
			return
		}
		defer in.Close()
		h := w.Header()
		h.Set("Content-Type", q.Get("type"))
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": q.Get("name")}))
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "sandbox")
		h.Set("Cache-Control", "private, no-store")
		if _, err := io.Copy(w, in); err != nil && !errors.Is(err, context.Canceled) {
			panic(http.ErrAbortHandler) // the reader must not take a part, or damaged bytes, for the whole
		}
	})
}
