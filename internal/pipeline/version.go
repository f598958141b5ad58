package pipeline

import (
	"context"
	"strconv"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// LoadVersion reads what the request refers to, as it was at the version that the
// reference names: a number, a tag, or the hash of the version's bytes.
func LoadVersion(d Deps, k Kind) Step {
	return Step{"load", func(ctx context.Context, r *Request) error {
		ref, err := resource.ParseRef(k.Kind, stringField(r.Message, "ref"), r.Org)
		if err != nil {
			return err
		}
		r.Ref = ref
		newest := ref
		newest.Version = ""
		if r.Row, err = Find(ctx, d, k.Kind, newest); err != nil {
			return err
		}
		if checkVersion(k.Kind, ref, r.Row) != nil {
			if r.Row, err = older(ctx, d, r.Row, ref); err != nil {
				return err
			}
		}
		return decodeExisting(k, r)
	}}
}

// older answers a row as it was.
func older(ctx context.Context, d Deps, row store.Row, ref resource.Ref) (store.Row, error) {
	kind := resource.MustKindName(row.Kind)
	if !resource.Meta(row.Kind).GetVersioned() {
		return row, fault.New(fault.Unimplemented, "VERSION_HISTORY", "of the kind %s no versions are kept: leave out @%s", kind, ref.Version)
	}
	v, err := findVersion(ctx, d, row, ref.Version)
	if fault.CodeOf(err) == fault.NotFound {
		return row, fault.New(fault.NotFound, "NOT_FOUND", "%s %s has no version, tag or hash %s: its newest version is %d", kind, row.Ref(), ref.Version, row.Version).
			With("kind", kind).With("ref", ref.String())
	}
	row.Data, row.Version = v.Data, v.Number
	return row, err
}

// hashLength is how many digits the hash of a version has.
const hashLength = 64

func findVersion(ctx context.Context, d Deps, row store.Row, word string) (store.Version, error) {
	if number, err := strconv.ParseInt(word, 10, 64); err == nil && len(word) < hashLength {
		return d.Store.VersionByNumber(ctx, row.Kind, row.ID, number)
	}
	if len(word) == hashLength {
		return d.Store.VersionByHash(ctx, row.Kind, row.ID, word)
	}
	return d.Store.VersionByTag(ctx, row.Kind, row.ID, word)
}
