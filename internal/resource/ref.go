package resource

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
)

var slugForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// MaxSlug is the longest slug, in bytes.
const MaxSlug = 63

// Slug derives a slug from a name: lower case, blanks and underscores become
// hyphens, everything else outside [a-z0-9-] goes, hyphens are collapsed and
// trimmed, and the rest is cut at MaxSlug. "" when nothing is left.
func Slug(name string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if hyphen && b.Len() > 0 {
				b.WriteByte('-')
			}
			hyphen = false
			b.WriteRune(r)
		case r == '-' || r == '_' || unicode.IsSpace(r):
			hyphen = true
		}
	}
	s := b.String()
	if len(s) > MaxSlug {
		s = strings.TrimRight(s[:MaxSlug], "-")
	}
	return s
}

// ValidSlug says whether s has the form of a slug.
func ValidSlug(s string) bool { return len(s) <= MaxSlug && slugForm.MatchString(s) }

// Ref is a parsed reference. Either ID is set, or Org and Slug.
type Ref struct {
	ID      string
	Org     string
	Slug    string
	Version string // `latest`, a number, a tag or a hash; "" means latest
}

// String is the reference as a person would write it.
func (r Ref) String() string {
	s := r.ID
	if s == "" {
		s = r.Slug
		if r.Org != "" && r.Org != DefaultOrg {
			s = r.Org + "/" + r.Slug
		}
	}
	if r.Version != "" {
		s += "@" + r.Version
	}
	return s
}

// ParseRef reads `slug`, `org/slug` or an id, each optionally with `@version`.
// A bare slug belongs to org, or to `default` when org is "". An id is
// recognised by the kind's prefix; an organization's id is its slug.
func ParseRef(k Kind, text, org string) (Ref, error) {
	body, version, _ := strings.Cut(text, "@")
	if org == "" {
		org = DefaultOrg
	}
	meta := Meta(k)
	if p := id.Prefix(body); p != "" {
		if p != meta.GetPrefix() {
			return Ref{}, refFault(k, text, "its prefix `"+p+"` belongs to another kind")
		}
		return Ref{ID: body, Version: version}, nil
	}
	slug := body
	if o, s, ok := strings.Cut(body, "/"); ok {
		org, slug = o, s
	}
	if !ValidSlug(slug) || !ValidSlug(org) {
		why := "expected a slug of [a-z0-9-], `org/slug`, or an id"
		if meant := Slug(body); meant != "" && !strings.ContainsAny(body, "/_") {
			why += ", such as " + meant
		}
		return Ref{}, refFault(k, text, why)
	}
	if meta.GetPrefix() == "" {
		return Ref{ID: slug, Version: version}, nil
	}
	return Ref{Org: org, Slug: slug, Version: version}, nil
}

func refFault(k Kind, text, why string) *fault.Fault {
	return fault.New(fault.InvalidArgument, "BAD_REFERENCE", "%q is no reference to %s: %s", text, article(Meta(k).GetName()), why)
}

func article(noun string) string {
	if noun != "" && strings.ContainsRune("AEIOU", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// NotFound is the fault for a resource that is not there, or that the caller
// must not know of.
func NotFound(k Kind, ref string) *fault.Fault {
	name := MustKindName(k)
	return fault.New(fault.NotFound, "NOT_FOUND", "%s not found: %s", name, ref).With("kind", name).With("ref", ref)
}

// Exists is the fault for a resource whose id or slug is taken.
func Exists(k Kind, ref string) *fault.Fault {
	name := MustKindName(k)
	return fault.New(fault.AlreadyExists, "ALREADY_EXISTS", "%s already exists: %s", name, ref).With("kind", name).With("ref", ref)
}
