package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// reserved is the prefix of labels that belong to the server.
const reserved = "cadre.dev/"

// Authorize asks whether the caller may do this to the kind in the
// organization, before anything is read.
func Authorize(d Deps, permission string, k resource.Kind) Step {
	return Step{"authorize", func(ctx context.Context, r *Request) error {
		r.Org = orgOf(r.Message)
		return authz.Require(ctx, d.Authz, authz.Question{Caller: r.Caller, Permission: permission, Kind: k, Org: r.Org})
	}}
}

// AuthorizeTarget asks the same of the object, once it is known.
func AuthorizeTarget(d Deps, permission string, k resource.Kind) Step {
	return Step{"authorize target", func(ctx context.Context, r *Request) error {
		return authz.Require(ctx, d.Authz, authz.Question{Caller: r.Caller, Permission: permission, Kind: k, Org: r.Row.Org, ID: r.Row.ID})
	}}
}

// orgOf finds the organization that a message names: its own field, its
// resource's metadata, or the default.
func orgOf(m proto.Message) string {
	if org := stringField(m, "org"); org != "" {
		return org
	}
	if carried := carriedResource(m); carried != nil {
		if org := resource.Metadata(carried).GetOrg(); org != "" {
			return org
		}
	}
	return resource.DefaultOrg
}

func stringField(m proto.Message, name protoreflect.Name) string {
	fd := m.ProtoReflect().Descriptor().Fields().ByName(name)
	if fd == nil || fd.Kind() != protoreflect.StringKind || fd.IsList() {
		return ""
	}
	return m.ProtoReflect().Get(fd).String()
}

// carriedResource is the resource inside a Create, Update or Apply request.
func carriedResource(m proto.Message) proto.Message {
	var found proto.Message
	m.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() != nil && !fd.IsList() && !fd.IsMap() {
			if _, ok := resource.KindOf(fd.Message()); ok {
				found = v.Message().Interface()
			}
		}
		return found == nil
	})
	return found
}

// Recall answers a repeated request with its first answer.
func Recall(d Deps) Step {
	return Step{"recall", func(ctx context.Context, r *Request) error {
		key := stringField(r.Message, "idempotency_key")
		if key == "" {
			return nil
		}
		body := proto.Clone(r.Message)
		body.ProtoReflect().Clear(body.ProtoReflect().Descriptor().Fields().ByName("idempotency_key"))
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(body)
		if err != nil {
			return fault.From(err)
		}
		scope := sha256.Sum256([]byte(strings.Join([]string{r.Caller.ID, r.Procedure, r.Org, key}, "\x00")))
		r.Once = &store.Once{
			Scope: hex.EncodeToString(scope[:]), Digest: d.BodyDigest(data), Now: d.Now(),
			Answer: func() []byte { return mustMarshal(r.Answer) },
		}
		answer, found, err := d.Store.Recall(ctx, r.Once)
		if err == nil && found {
			err = &store.Replayed{Answer: answer}
		}
		return err
	}}
}

func mustMarshal(m proto.Message) []byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err) // a message that came through the contract always encodes
	}
	return data
}

// TakeResource copies the resource out of the request, without its status,
// which is the server's.
func TakeResource(k Kind) Step {
	return Step{"take resource", func(_ context.Context, r *Request) error {
		carried := carriedResource(r.Message)
		if carried == nil {
			return fault.New(fault.InvalidArgument, "RESOURCE_MISSING", "the request carries no %s", resource.Meta(k.Kind).GetName())
		}
		r.Desired = proto.Clone(carried)
		resource.ClearStatus(r.Desired)
		if k.Normalise != nil {
			k.Normalise(r.Desired)
		}
		return nil
	}}
}

// ResolveSlug fills in organization and slug.
func ResolveSlug(k Kind) Step {
	return Step{"resolve slug", func(_ context.Context, r *Request) error {
		md := resource.EnsureMetadata(r.Desired)
		if md.Slug == "" {
			md.Slug = resource.Slug(md.Name)
		}
		if md.Name == "" {
			md.Name = md.Slug
		}
		if md.Slug == "" && md.Id == "" {
			return violation("metadata.slug", "required", "give metadata.slug, or a metadata.name with letters or digits")
		}
		if resource.Meta(k.Kind).GetPrefix() == "" { // an organization is its slug
			if md.Id != "" && md.Id != md.Slug {
				return violation("metadata.id", "organization.id", "an organization's id is its slug")
			}
			md.Org, md.Id = "", md.Slug
			return nil
		}
		md.Org = r.Org
		return nil
	}}
}

func violation(field, rule, text string) *fault.Fault {
	f := fault.New(fault.InvalidArgument, "VALIDATION_FAILED", "%s: %s", field, text)
	f.Violations = []fault.Violation{{Field: field, Rule: rule, Text: text}}
	return f
}

// RequireOrg refuses resources of an organization that does not exist.
func RequireOrg(d Deps, k Kind) Step {
	return Step{"require organization", func(ctx context.Context, r *Request) error {
		if resource.Meta(k.Kind).GetPrefix() == "" {
			return nil
		}
		_, err := d.Store.Get(ctx, resourcev1.ResourceKind_organization, r.Org)
		return withNear(ctx, d, err, resourcev1.ResourceKind_organization, "", r.Org)
	}}
}

// GuardLabels refuses labels that belong to the server.
func GuardLabels() Step {
	return Step{"guard labels", func(_ context.Context, r *Request) error {
		old := resource.Metadata(r.Existing).GetLabels()
		for key, value := range resource.Metadata(r.Desired).GetLabels() {
			if strings.HasPrefix(key, reserved) && old[key] != value {
				return violation("metadata.labels["+key+"]", "labels.reserved", "labels that begin with cadre.dev/ belong to the server")
			}
		}
		return nil
	}}
}

// GuardImmutables refuses changes of what may not change.
func GuardImmutables(k Kind) Step {
	return Step{"guard immutables", func(_ context.Context, r *Request) error {
		for _, path := range append([]string{"metadata.org", "metadata.slug"}, k.Immutable...) {
			was, is := resource.FieldValue(r.Existing, path), resource.FieldValue(r.Desired, path)
			if was != is {
				return violation(path, "immutable", "it is "+was+" and cannot become "+is+"; make a new one instead")
			}
		}
		return nil
	}}
}

// Check runs the kind's own judgement.
func Check(d Deps, k Kind) Step {
	return Step{"check references", func(ctx context.Context, r *Request) error {
		if k.Check == nil {
			return nil
		}
		return k.Check(ctx, d, r)
	}}
}

// BuildNew makes the state of a new resource.
func BuildNew(d Deps, k Kind) Step {
	return Step{"build state", func(_ context.Context, r *Request) error {
		md := resource.EnsureMetadata(r.Desired)
		if prefix := resource.Meta(k.Kind).GetPrefix(); prefix != "" {
			md.Id = id.New(prefix)
		}
		return build(d, r, 1, true)
	}}
}

// BuildUpdate makes the state of a changed one.
func BuildUpdate(d Deps) Step {
	return Step{"build state", func(_ context.Context, r *Request) error {
		old := resource.Metadata(r.Existing)
		md := resource.EnsureMetadata(r.Desired)
		md.Id, md.Audit = old.GetId(), proto.Clone(old.GetAudit()).(*resourcev1.Audit)
		if md.Visibility == resourcev1.Visibility_visibility_unspecified {
			md.Visibility = old.GetVisibility()
		}
		resource.CopyStatus(r.Desired, r.Existing)
		return build(d, r, old.GetVersion().GetNumber()+1, false)
	}}
}

func build(d Deps, r *Request, number int64, created bool) error {
	md := resource.EnsureMetadata(r.Desired)
	if md.Visibility == resourcev1.Visibility_visibility_unspecified {
		md.Visibility = resourcev1.Visibility_org
	}
	hash, err := resource.ContentHash(r.Desired)
	if err != nil {
		return fault.From(err)
	}
	md.Version = &resourcev1.Version{Number: number, ContentHash: hash}
	if created {
		md.Audit = nil
	}
	resource.Stamp(md, r.Caller.ID, d.Now(), created)
	return nil
}

// RowOf makes the row of a resource.
func RowOf(k Kind, m proto.Message) store.Row {
	md := resource.Metadata(m)
	labels := md.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	return store.Row{
		Kind: k.Kind, ID: md.GetId(), Org: md.GetOrg(), Slug: md.GetSlug(), Name: md.GetName(), Visibility: md.GetVisibility().String(),
		Version: md.GetVersion().GetNumber(), CreatedAt: md.GetAudit().GetCreated().GetAt().AsTime(), UpdatedAt: md.GetAudit().GetUpdated().GetAt().AsTime(),
		Labels: labels, Index: store.IndexOf(m, k.Index), Data: mustMarshal(m),
	}
}

// PersistNew stores a new resource.
func PersistNew(d Deps, k Kind) Step {
	return Step{"persist", func(ctx context.Context, r *Request) error {
		r.Answer = answerWith(r, k, resourcev1.ApplyOutcome_created, nil)
		return d.Store.Create(ctx, RowOf(k, r.Desired), r.Once)
	}}
}

// PersistUpdate stores a changed one, unless somebody changed it meanwhile.
func PersistUpdate(d Deps, k Kind) Step {
	return Step{"persist", func(ctx context.Context, r *Request) error {
		read := r.Row.Version
		r.Answer = answerWith(r, k, resourcev1.ApplyOutcome_updated, Changes(r.Existing, r.Desired))
		_, err := d.Store.Update(ctx, k.Kind, r.Row.ID, r.Once, func(now store.Row) (store.Row, error) {
			if now.Version != read {
				return now, Stale(k.Kind, now)
			}
			return RowOf(k, r.Desired), nil
		})
		return err
	}}
}

// Stale is the fault for a change of something that changed since it was read.
func Stale(k resource.Kind, now store.Row) *fault.Fault {
	return fault.New(fault.Aborted, "STALE_VERSION", "%s %s was changed meanwhile and has version %d now: read it again and repeat the change",
		resource.MustKindName(k), now.Ref(), now.Version).With("version", itoa(now.Version)).With("id", now.ID)
}

// withNear adds slugs that look like the one that was not found.
func withNear(ctx context.Context, d Deps, err error, k resource.Kind, org, slug string) error {
	if fault.CodeOf(err) != fault.NotFound {
		return err
	}
	slugs, serr := d.Store.Slugs(ctx, k, org, "", 1000)
	if serr != nil {
		return err
	}
	if word := near.Word(slug, slugs); word != "" {
		return fault.From(err).With("near", word)
	}
	return err
}
