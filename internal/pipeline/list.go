package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// defaultPage is how many rows a page has when the caller does not say.
const defaultPage = 100

// ListPage answers one page of a kind.
func ListPage(d Deps, k Kind, output func() proto.Message) Step {
	return Step{"list page", func(ctx context.Context, r *Request) error {
		in := r.Message.(*resourcev1.ListRequest)
		q, err := queryOf(k, in)
		if err != nil {
			return err
		}
		page, err := d.Store.List(ctx, q)
		if err != nil {
			return err
		}
		out := output().ProtoReflect()
		if err := fillPage(ctx, d, k, out, page.Rows); err != nil {
			return err
		}
		if page.Next != nil {
			out.Set(out.Descriptor().Fields().ByName("next_page_token"), protoreflect.ValueOfString(pageToken(in, page.Next)))
		}
		r.Answer = out.Interface()
		return nil
	}}
}

func fillPage(ctx context.Context, d Deps, k Kind, out protoreflect.Message, rows []store.Row) error {
	fields := out.Descriptor().Fields()
	var fd protoreflect.FieldDescriptor
	for i := range fields.Len() {
		if f := fields.Get(i); f.IsList() && f.Message() != nil {
			fd = f
		}
	}
	items := out.Mutable(fd).List()
	for _, row := range rows {
		m := k.New()
		if err := proto.Unmarshal(row.Data, m); err != nil {
			return fault.From(err)
		}
		if k.Hydrate != nil {
			if err := k.Hydrate(ctx, d, m); err != nil {
				return err
			}
		}
		items.Append(protoreflect.ValueOfMessage(m.ProtoReflect()))
	}
	return nil
}

func queryOf(k Kind, in *resourcev1.ListRequest) (store.Query, error) {
	q := store.Query{Kind: k.Kind, Org: orgOf(in), Limit: int(in.GetPageSize())}
	if resource.Meta(k.Kind).GetPrefix() == "" {
		q.Org = ""
	}
	if q.Limit == 0 {
		q.Limit = defaultPage
	}
	var err error
	if q.Where, err = ParseFilter(k, in.GetFilter()); err != nil {
		return q, err
	}
	if q.Order, err = ParseOrder(k, in.GetOrderBy()); err != nil {
		return q, err
	}
	q.After, err = parseToken(in, len(q.Order)+1)
	return q, err
}

// token is the content of a page token. It holds a digest of what it continues,
// so that it cannot be used for another list.
type token struct {
	List  string   `json:"l"`
	After []string `json:"a"`
}

func listDigest(in *resourcev1.ListRequest) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{orgOf(in), in.GetFilter(), in.GetOrderBy()}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func pageToken(in *resourcev1.ListRequest, after []string) string {
	data, err := json.Marshal(token{List: listDigest(in), After: after})
	if err != nil {
		panic(err) // strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseToken(in *resourcev1.ListRequest, keys int) ([]string, error) {
	if in.GetPageToken() == "" {
		return nil, nil
	}
	var t token
	data, err := base64.RawURLEncoding.DecodeString(in.GetPageToken())
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil || len(t.After) != keys {
		return nil, fault.New(fault.InvalidArgument, "BAD_PAGE_TOKEN", "the page token is not one that this list gave; begin anew without it")
	}
	if t.List != listDigest(in) {
		return nil, fault.New(fault.InvalidArgument, "PAGE_TOKEN_OF_OTHER_LIST", "the page token belongs to a list with another organization, filter or order; begin anew without it")
	}
	return t.After, nil
}
