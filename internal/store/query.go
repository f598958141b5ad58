package store

import (
	"github.com/cadre-dev/cadre/internal/resource"
)

// Op compares a field with a value, as text.
type Op string

// The operators.
const (
	Eq       Op = "="
	Ne       Op = "!="
	Lt       Op = "<"
	Le       Op = "<="
	Gt       Op = ">"
	Ge       Op = ">="
	Contains Op = ":"
)

// Column names what a query may filter by and order by.
type Column struct {
	Name  string // one of Columns, or `label` with Label set, or `index` with Index set
	Label string
	Index int
}

// Columns are the names of the columns that every kind has.
var Columns = []string{"id", "org", "slug", "name", "visibility", "version", "created_at", "updated_at"}

// Condition is one comparison. Times are RFC 3339 in UTC.
type Condition struct {
	Column Column
	Op     Op
	Value  string
}

// Order is one sort key.
type Order struct {
	Column Column
	Desc   bool
}

// Query asks for one page. The id is always the last sort key, so that the
// order is total and pages neither skip nor repeat rows that did not change.
type Query struct {
	Kind  resource.Kind
	Org   string // "" means every organization
	Where []Condition
	Order []Order
	Limit int      // must be positive
	After []string // the sort values and the id of the last row of the page before; nil for the first
}

// Page is the answer. Next is the After of the following page, nil on the last.
type Page struct {
	Rows []Row
	Next []string
}
