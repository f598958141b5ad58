package pipeline

import (
	"context"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// Standard are the verbs that a kind has by what it declares, followed by its own.
func Standard(d Deps, k Kind) []Verb {
	var verbs []Verb
	if k.Declared {
		verbs = append(verbs, create(d, k), update(d, k), apply(d, k))
	}
	if k.Deletable {
		verbs = append(verbs, remove(d, k))
	}
	if k.Listed {
		verbs = append(verbs, get(d, k), list(d, k))
	}
	if k.Verbs != nil {
		verbs = append(verbs, k.Verbs(d)...)
	}
	for i := range verbs {
		verbs[i].Kind = k.Kind
	}
	return verbs
}

// Procedure names a method of the kind's service.
func Procedure(k Kind, method string) string {
	m := k.New().ProtoReflect().Descriptor()
	return "/" + string(m.ParentFile().Package()) + "." + string(m.Name()) + "Service/" + method
}

func create(d Deps, k Kind) Verb {
	return Verb{
		Procedure: Procedure(k, "Create"), Permission: "create", Output: k.New,
		Steps: []Step{
			Authorize(d, "create", k.Kind), Validate(d), Recall(d), TakeResource(k), ResolveSlug(k), RequireOrg(d, k),
			GuardLabels(), Check(d, k), BuildNew(d, k), PersistNew(d, k),
		},
	}
}

func update(d Deps, k Kind) Verb {
	return Verb{
		Procedure: Procedure(k, "Update"), Permission: "edit", Output: k.New,
		Steps: []Step{
			Authorize(d, "edit", k.Kind), Validate(d), Recall(d), TakeResource(k), ResolveSlug(k), LoadCarried(d, k), AuthorizeTarget(d, "edit", k.Kind),
			CompareVersion(k, true), GuardLabels(), GuardImmutables(k), Check(d, k), BuildUpdate(d), PersistUpdate(d, k),
		},
	}
}

func apply(d Deps, k Kind) Verb {
	output := outputOf(Procedure(k, "Apply"))
	return Verb{
		Procedure: Procedure(k, "Apply"), Permission: "edit", Output: output,
		Steps: []Step{
			Authorize(d, "edit", k.Kind), Validate(d), Recall(d), TakeResource(k), ResolveSlug(k), RequireOrg(d, k), Probe(d, k), Delegate(d, k),
		},
	}
}

func remove(d Deps, k Kind) Verb {
	return Verb{
		Procedure: Procedure(k, "Delete"), Permission: "delete", Output: k.New,
		Steps: []Step{
			Authorize(d, "delete", k.Kind), Validate(d), Recall(d), LoadRef(d, k), AuthorizeTarget(d, "delete", k.Kind), CheckDelete(d, k), Delete(d, k),
		},
	}
}

func get(d Deps, k Kind) Verb {
	return Verb{
		Procedure: Procedure(k, "Get"), Permission: "view", Output: k.New,
		Steps: []Step{Authorize(d, "view", k.Kind), Validate(d), LoadVersion(d, k), AuthorizeTarget(d, "view", k.Kind), Hydrate(d, k)},
	}
}

func list(d Deps, k Kind) Verb {
	procedure := Procedure(k, "List")
	return Verb{
		Procedure: procedure, Permission: "view", Output: outputOf(procedure),
		Steps: []Step{Authorize(d, "view", k.Kind), Validate(d), ListPage(d, k, outputOf(procedure))},
	}
}

// outputOf makes messages of a procedure's output type.
func outputOf(procedure string) func() proto.Message {
	service, method := splitProcedure(procedure)
	sd, err := protoregistry.GlobalFiles.FindDescriptorByName(service)
	if err != nil {
		panic("pipeline: " + procedure + " is not in the contract")
	}
	md := sd.(protoreflect.ServiceDescriptor).Methods().ByName(method)
	if md == nil {
		panic("pipeline: " + procedure + " is not in the contract")
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.Output().FullName())
	if err != nil {
		panic(err)
	}
	return func() proto.Message { return mt.New().Interface() }
}

func splitProcedure(p string) (protoreflect.FullName, protoreflect.Name) {
	for i := len(p) - 1; i > 0; i-- {
		if p[i] == '/' {
			return protoreflect.FullName(p[1:i]), protoreflect.Name(p[i+1:])
		}
	}
	return "", ""
}

// LoadRef reads what the request refers to.
func LoadRef(d Deps, k Kind) Step {
	return Step{"load", func(ctx context.Context, r *Request) error {
		ref, err := resource.ParseRef(k.Kind, stringField(r.Message, "ref"), r.Org)
		if err != nil {
			return err
		}
		r.Ref = ref
		if r.Row, err = Find(ctx, d, k.Kind, ref); err != nil {
			return err
		}
		return decodeExisting(k, r)
	}}
}

// Find reads a resource by reference; the fault of a missing one has near names.
func Find(ctx context.Context, d Deps, k resource.Kind, ref resource.Ref) (store.Row, error) {
	var row store.Row
	var err error
	if ref.ID != "" {
		row, err = d.Store.Get(ctx, k, ref.ID)
		if resource.Meta(k).GetPrefix() == "" {
			err = withNear(ctx, d, err, k, "", ref.ID)
		}
	} else {
		row, err = d.Store.Lookup(ctx, k, ref.Org, ref.Slug)
		err = withNear(ctx, d, err, k, ref.Org, ref.Slug)
	}
	if err != nil {
		return row, err
	}
	return row, checkVersion(k, ref, row)
}

// checkVersion refuses a version that is not the newest: only a read takes others.
func checkVersion(k resource.Kind, ref resource.Ref, row store.Row) error {
	if ref.Version == "" || ref.Version == "latest" || ref.Version == strconv.FormatInt(row.Version, 10) {
		return nil
	}
	return fault.New(fault.Unimplemented, "VERSION_HISTORY", "%s %s has version %d; older versions can be read and nothing else yet: leave out @%s",
		resource.MustKindName(k), row.Ref(), row.Version, ref.Version)
}

func decodeExisting(k Kind, r *Request) error {
	r.Existing = k.New()
	if err := proto.Unmarshal(r.Row.Data, r.Existing); err != nil {
		return fault.From(err)
	}
	return nil
}

// LoadCarried reads the resource that the request wants to change.
func LoadCarried(d Deps, k Kind) Step {
	return Step{"load", func(ctx context.Context, r *Request) error {
		row, err := findCarried(ctx, d, k, r)
		if err != nil {
			return err
		}
		r.Row = row
		return decodeExisting(k, r)
	}}
}

func findCarried(ctx context.Context, d Deps, k Kind, r *Request) (store.Row, error) {
	md := resource.Metadata(r.Desired)
	ref := resource.Ref{ID: md.GetId(), Org: md.GetOrg(), Slug: md.GetSlug()}
	row, err := Find(ctx, d, k.Kind, ref)
	if err == nil && md.GetSlug() == "" {
		md.Slug = row.Slug
		if md.GetName() == "" {
			md.Name = row.Name
		}
	}
	return row, err
}

// CompareVersion refuses an outdated write. Where must is set, the version that
// was read has to be there.
func CompareVersion(k Kind, must bool) Step {
	return Step{"compare version", func(_ context.Context, r *Request) error {
		read := resource.Metadata(r.Desired).GetVersion().GetNumber()
		if read == 0 && must {
			return violation("metadata.version.number", "required", "give the version that you read, or use apply")
		}
		if read != 0 && read != r.Row.Version {
			return Stale(k.Kind, r.Row)
		}
		return nil
	}}
}

// Probe looks whether the applied resource exists.
func Probe(d Deps, k Kind) Step {
	return Step{"probe", func(ctx context.Context, r *Request) error {
		r.DryRun = boolField(r.Message, "dry_run")
		row, err := findCarried(ctx, d, k, r)
		if fault.CodeOf(err) == fault.NotFound && resource.Metadata(r.Desired).GetId() == idOfNew(k, r) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Row = row
		return decodeExisting(k, r)
	}}
}

func idOfNew(k Kind, r *Request) string {
	if resource.Meta(k.Kind).GetPrefix() == "" {
		return resource.Metadata(r.Desired).GetSlug()
	}
	return ""
}

// Delegate creates, updates or leaves alone, as the probe found.
func Delegate(d Deps, k Kind) Step {
	return Step{"create or update", func(ctx context.Context, r *Request) error {
		steps := []Step{GuardLabels(), Check(d, k), BuildNew(d, k), PersistNew(d, k)}
		if r.Existing != nil {
			if unchanged(r) {
				r.Finish(answerWith(r, k, resourcev1.ApplyOutcome_unchanged, nil))
				return nil
			}
			steps = []Step{
				AuthorizeTarget(d, "edit", k.Kind), CompareVersion(k, false), GuardLabels(), GuardImmutables(k), Check(d, k), BuildUpdate(d), PersistUpdate(d, k),
			}
		}
		if r.DryRun {
			steps[len(steps)-1] = Step{"describe", func(_ context.Context, r *Request) error { return describe(k, r) }}
		}
		for _, s := range steps {
			if err := s.Do(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}}
}

func describe(k Kind, r *Request) error {
	outcome, changes := resourcev1.ApplyOutcome_created, []string(nil)
	if r.Existing != nil {
		outcome, changes = resourcev1.ApplyOutcome_updated, Changes(r.Existing, r.Desired)
	}
	r.Finish(answerWith(r, k, outcome, changes))
	return nil
}

// Delete removes the loaded row.
func Delete(d Deps, k Kind) Step {
	return Step{"delete", func(ctx context.Context, r *Request) error {
		want := int64Field(r.Message, "version")
		r.Answer = r.Existing
		_, err := d.Store.Delete(ctx, k.Kind, r.Row.ID, r.Once, func(now store.Row) error {
			if want != 0 && now.Version != want {
				return Stale(k.Kind, now)
			}
			return nil
		})
		return err
	}}
}

// CheckDelete runs the kind's own judgement of a delete.
func CheckDelete(d Deps, k Kind) Step {
	return Step{"check delete", func(ctx context.Context, r *Request) error {
		if k.CheckDelete == nil {
			return nil
		}
		return k.CheckDelete(ctx, d, r)
	}}
}

// Hydrate answers with the loaded resource and what is not stored in its row.
func Hydrate(d Deps, k Kind) Step {
	return Step{"answer", func(ctx context.Context, r *Request) error {
		r.Answer = r.Existing
		if k.Hydrate == nil {
			return nil
		}
		return k.Hydrate(ctx, d, r.Answer)
	}}
}

func boolField(m proto.Message, name protoreflect.Name) bool {
	fd := m.ProtoReflect().Descriptor().Fields().ByName(name)
	return fd != nil && m.ProtoReflect().Get(fd).Bool()
}

func int64Field(m proto.Message, name protoreflect.Name) int64 {
	fd := m.ProtoReflect().Descriptor().Fields().ByName(name)
	if fd == nil {
		return 0
	}
	return m.ProtoReflect().Get(fd).Int()
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
