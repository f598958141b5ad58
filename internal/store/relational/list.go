package relational

import (
	"context"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// List answers one page of a kind.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	name, err := resource.KindName(q.Kind)
	if err != nil {
		return store.Page{}, err
	}
	b := listBuilder{position: s.dialect.Position, kind: name, order: append(q.Order[:len(q.Order):len(q.Order)], store.Order{Column: store.Column{Name: "id"}, Desc: lastDesc(q.Order)})}
	if err := b.build(q); err != nil {
		return store.Page{}, err
	}
	var page store.Page
	var keys [][]string
	err = s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		key := make([]string, len(b.order))
		row, err := scanRow(q.Kind, withKey{r, key})
		page.Rows, keys = append(page.Rows, row), append(keys, key)
		return err
	}, b.sql.String(), b.args...)
	if len(page.Rows) > q.Limit {
		page.Rows = page.Rows[:q.Limit]
		page.Next = keys[q.Limit-1]
	}
	return page, err
}

func lastDesc(order []store.Order) bool { return len(order) > 0 && order[len(order)-1].Desc }

// withKey scans the sort values behind the row's own columns.
type withKey struct {
	sqldb.Scanner
	key []string
}

func (w withKey) Scan(dest ...any) error {
	for i := range w.key {
		dest = append(dest, &w.key[i])
	}
	return w.Scanner.Scan(dest...)
}

type listBuilder struct {
	position string // the function that finds a text in another
	kind     string
	order    []store.Order
	sql      strings.Builder
	args     []any
}

func (b *listBuilder) build(q store.Query) error {
	b.sql.WriteString("SELECT " + rowColumns)
	for i, o := range b.order {
		expr, err := b.expr(o.Column)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b.sql, ", CAST(%s AS TEXT) AS key%d", expr, i)
	}
	b.sql.WriteString(" FROM resources WHERE kind = ?")
	b.args = append(b.args, b.kind)
	if q.Org != "" {
		b.add(" AND org = ?", q.Org)
	}
	for _, c := range q.Where {
		if err := b.condition(c); err != nil {
			return err
		}
	}
	if q.After != nil {
		if err := b.after(q.After); err != nil {
			return err
		}
	}
	for i, o := range b.order {
		expr, err := b.expr(o.Column)
		if err != nil {
			return err
		}
		b.sql.WriteString([]string{", ", " ORDER BY "}[btoi(i == 0)] + expr + []string{"", " DESC"}[btoi(o.Desc)])
	}
	b.add(" LIMIT ?", q.Limit+1)
	return nil
}

func (b *listBuilder) add(sql string, args ...any) {
	b.sql.WriteString(sql)
	b.args = append(b.args, args...)
}

func (b *listBuilder) condition(c store.Condition) error {
	expr, err := b.expr(c.Column)
	if err != nil {
		return err
	}
	switch c.Op {
	case store.Contains:
		b.add(" AND "+b.position+"("+expr+", ?) > 0", c.Value)
	case store.Eq, store.Ne, store.Lt, store.Le, store.Gt, store.Ge:
		b.add(" AND "+expr+" "+string(c.Op)+" "+param(c.Column), c.Value)
	default:
		return badQuery("operator %q", c.Op)
	}
	return nil
}

// after continues behind the last row of the page before: a row comparison
// spelled out, because the keys may differ in direction.
func (b *listBuilder) after(key []string) error {
	if len(key) != len(b.order) {
		return badQuery("page token of another order")
	}
	if b.oneWay() {
		return b.afterRow(key)
	}
	b.sql.WriteString(" AND (")
	for i := range b.order {
		if i > 0 {
			b.sql.WriteString(" OR ")
		}
		b.sql.WriteString("(")
		for j := 0; j <= i; j++ {
			expr, err := b.expr(b.order[j].Column)
			if err != nil {
				return err
			}
			op := "="
			if j == i {
				op = []string{">", "<"}[btoi(b.order[j].Desc)]
			}
			if j > 0 {
				b.sql.WriteString(" AND ")
			}
			b.add(expr+" "+op+" "+param(b.order[j].Column), key[j])
		}
		b.sql.WriteString(")")
	}
	b.sql.WriteString(")")
	return nil
}

// oneWay says whether all keys sort in one direction.
func (b *listBuilder) oneWay() bool {
	for _, o := range b.order {
		if o.Desc != b.order[0].Desc {
			return false
		}
	}
	return true
}

// afterRow compares all keys at once, which an index can follow.
func (b *listBuilder) afterRow(key []string) error {
	columns, params := make([]string, len(key)), make([]string, len(key))
	for i, o := range b.order {
		expr, err := b.expr(o.Column)
		if err != nil {
			return err
		}
		columns[i], params[i] = expr, param(o.Column)
		b.args = append(b.args, key[i])
	}
	op := []string{">", "<"}[btoi(b.order[0].Desc)]
	b.sql.WriteString(" AND (" + strings.Join(columns, ", ") + ") " + op + " (" + strings.Join(params, ", ") + ")")
	return nil
}

// expr is the SQL of a column. Names come from a closed list and are never
// taken from a caller's text; a label's key is bound by quoting.
func (b *listBuilder) expr(c store.Column) (string, error) {
	switch c.Name {
	case "id", "org", "slug", "name", "visibility", "version", "created_at", "updated_at":
		return c.Name, nil
	case "index":
		if c.Index >= 0 && c.Index < 4 {
			return fmt.Sprintf("i%d", c.Index+1), nil
		}
	case "label":
		key := strings.ReplaceAll(c.Label, "'", "''")
		return "COALESCE((SELECT l.value FROM resource_labels l WHERE l.kind = resources.kind AND l.id = resources.id AND l.key = '" + key + "'), '')", nil
	}
	return "", badQuery("column %q", c.Name)
}

func param(c store.Column) string {
	if c.Name == "version" {
		return "CAST(? AS BIGINT)"
	}
	return "?"
}

func badQuery(format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "BAD_QUERY", "the store cannot list by "+format, args...)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func isNotFound(err error) bool { return fault.CodeOf(err) == fault.NotFound }
