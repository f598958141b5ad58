package relational

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// scanPage is how many rows a look-up by field reads at a time.
const scanPage = 200

// FindByField looks into one row after the other.
func (s *Store) FindByField(ctx context.Context, kind resource.Kind, path, value string, p store.Span) ([]store.Row, error) {
	m, err := resource.NewMessage(kind)
	if err != nil {
		return nil, err
	}
	if p.Limit <= 0 {
		return nil, badQuery("a field with the limit %d", p.Limit)
	}
	var found []store.Row
	for {
		page, err := s.idPage(ctx, kind, p, scanPage)
		if err != nil {
			return nil, err
		}
		for _, row := range page {
			if fieldOf(m, row, path) == value {
				found = append(found, row)
			}
			if len(found) == p.Limit {
				return found, nil
			}
		}
		if len(page) < scanPage {
			return found, nil
		}
		p.After = page[len(page)-1].ID
	}
}

// fieldOf reads a field of a row. Bytes that are no message have no fields.
func fieldOf(m proto.Message, row store.Row, path string) string {
	proto.Reset(m)
	if err := proto.Unmarshal(row.Data, m); err != nil {
		return ""
	}
	return resource.FieldValue(m, path)
}

// idPage answers rows of a kind in the order of their ids.
func (s *Store) idPage(ctx context.Context, kind resource.Kind, p store.Span, limit int) ([]store.Row, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return nil, err
	}
	return s.rows(ctx, kind, "SELECT "+rowColumns+" FROM resources WHERE kind = ? AND id > ? AND (? = '' OR org = ?) ORDER BY id LIMIT ?",
		name, p.After, p.Org, p.Org, limit)
}

func (s *Store) rows(ctx context.Context, kind resource.Kind, q string, args ...any) ([]store.Row, error) {
	var all []store.Row
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		row, err := scanRow(kind, r)
		all = append(all, row)
		return err
	}, q, args...)
	return all, err
}

// labelledColumns are those of a row beside its labels.
var labelledColumns = "r." + strings.ReplaceAll(rowColumns, ", ", ", r.")

// FindByLabel follows the index of labels.
func (s *Store) FindByLabel(ctx context.Context, kind resource.Kind, key, value string, p store.Span) ([]store.Row, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return nil, err
	}
	if p.Limit <= 0 {
		return nil, badQuery("a label with the limit %d", p.Limit)
	}
	return s.rows(ctx, kind, "SELECT "+labelledColumns+` FROM resource_labels l JOIN resources r ON r.kind = l.kind AND r.id = l.id
		WHERE l.kind = ? AND l.key = ? AND l.value = ? AND l.id > ? AND (? = '' OR r.org = ?) ORDER BY l.id LIMIT ?`,
		name, key, value, p.After, p.Org, p.Org, p.Limit)
}
