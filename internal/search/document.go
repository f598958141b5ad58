package search

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// MaxText bounds the text of a document, in bytes; what is longer is cut.
const MaxText = 64 << 10

// Document is what the index holds of a resource.
type Document struct {
	Kind, ID string
	// Org is the organization that it is found in. An organization is found in itself.
	Org                           string
	Slug, Name, Description, Text string
	Tags                          []string
	Visibility                    string // its name
	Session                       string // the session that it belongs to; "" for none
	CreatedAt                     time.Time
}

// Public tells whether other organizations may find it.
func (d Document) Public() bool {
	return d.Visibility == resourcev1.Visibility_public.String()
}

// Title are the words that weigh most: of name, slug, labels and id.
func (d Document) Title() []string {
	return Words(d.Name, d.Slug, strings.Join(d.Tags, " "), unprefixed(d.ID))
}

// Beginnings are the short beginnings of words of its name, slug and labels.
func (d Document) Beginnings() []string {
	return Beginnings(Words(d.Name, d.Slug, strings.Join(d.Tags, " ")))
}

// All are all of its words, those of the title among them.
func (d Document) All() []string {
	return Words(d.Name, d.Slug, strings.Join(d.Tags, " "), unprefixed(d.ID), unprefixed(d.Session), d.Description, d.Text)
}

// unprefixed is an id without its kind's prefix, which all of the kind share.
func unprefixed(id string) string {
	_, after, ok := strings.Cut(id, "_")
	if !ok {
		return id
	}
	return after
}

// Digest tells documents apart.
func (d Document) Digest() string {
	h := sha256.New()
	for _, part := range []string{
		d.Kind, d.ID, d.Org, d.Slug, d.Name, d.Description, d.Text, strings.Join(d.Tags, "\x01"), d.Visibility, d.Session, sqldb.Stamp(d.CreatedAt),
	} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Content is what an extractor takes out of a resource. Name, slug, labels,
// organization, visibility and time come from its metadata.
type Content struct {
	Description string
	Text        string
	Session     string
}

// Turn is what was said in a turn.
type Turn struct {
	Input  string
	Answer string // the final one; "" when there is none
}

// Extractor makes documents of one kind.
type Extractor struct {
	// Version is raised when it makes other documents than before: the index is filled
	// anew then. From 1.
	Version int
	// Turn asks for the words of the turn that the resource is.
	Turn bool
	// Content reads a resource. The turn is empty unless it was asked for.
	Content func(m proto.Message, turn Turn) Content
}

// Extract is an extractor that reads messages of one type.
func Extract[M proto.Message](version int, f func(M) Content) *Extractor {
	return &Extractor{Version: version, Content: func(m proto.Message, _ Turn) Content { return f(m.(M)) }}
}

// ExtractTurn is an extractor that also reads what was said in the turn.
func ExtractTurn[M proto.Message](version int, f func(M, Turn) Content) *Extractor {
	return &Extractor{Version: version, Turn: true, Content: func(m proto.Message, t Turn) Content { return f(m.(M), t) }}
}

// searchable is a kind with its extractor.
type searchable struct {
	new func() proto.Message
	Extractor
}

// document makes the document of a resource's bytes.
func (s searchable) document(kind string, data []byte, turn Turn) (Document, error) {
	m := s.new()
	if err := proto.Unmarshal(data, m); err != nil {
		return Document{}, err
	}
	md := resource.Metadata(m)
	c := s.Content(m, turn)
	d := Document{
		Kind: kind, ID: md.GetId(), Org: md.GetOrg(), Slug: md.GetSlug(), Name: clean(md.GetName()), Visibility: md.GetVisibility().String(),
		Description: clean(c.Description), Text: clean(Cut(c.Text, MaxText)), Session: c.Session, CreatedAt: md.GetAudit().GetCreated().GetAt().AsTime(),
	}
	if d.Org == "" {
		d.Org = d.ID
	}
	for _, key := range slices.Sorted(maps.Keys(md.GetLabels())) {
		d.Tags = append(d.Tags, clean(key+"="+md.GetLabels()[key]))
	}
	return d, nil
}

// clean takes out what some database refuses in a text.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", " ")
}

// Cut shortens a text to so many bytes, between characters.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
