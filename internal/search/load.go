package search

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// load makes the documents of the first rows, as many as one transaction writes. They are
// read some at a time, since each may be large.
func (i *Indexer) load(ctx context.Context, rows []dirty) (n int, err error) {
	size, most := 0, batchBytes
	if rows[0].bulk {
		_, most = i.index.Bulk()
	}
	for n < len(rows) && size < most {
		some := rows[n:min(len(rows), n+loadRows)]
		if err := i.loadSome(ctx, some); err != nil {
			return n, err
		}
		for _, d := range some {
			size += d.size()
		}
		n += len(some)
	}
	return n, nil
}

// loadRows is how many resources are read at once.
const loadRows = 16

func (i *Indexer) loadSome(ctx context.Context, rows []dirty) error {
	q := i.read(ctx)
	data := map[Key][]byte{}
	for kind, of := range byKind(rows) {
		if !i.known.Has(kind) {
			continue
		}
		if err := q.Rows(func(r sqldb.Scanner) error {
			var id string
			var bytes []byte
			err := r.Scan(&id, &bytes)
			data[Key{kind, id}] = bytes
			return err
		}, "SELECT id, data FROM resources WHERE kind = ? AND id IN "+places(len(of)), ids(kind, of)...); err != nil {
			return err
		}
	}
	for n := range rows {
		bytes, found := data[Key{rows[n].kind, rows[n].id}]
		rows[n].found = false
		if !found {
			continue
		}
		if err := i.extract(ctx, q, &rows[n], bytes); err != nil {
			return err
		}
	}
	return nil
}

// extract makes a row's document.
func (i *Indexer) extract(ctx context.Context, q sqldb.Querier, d *dirty, data []byte) (err error) {
	known := i.known.kinds[d.kind]
	var turn Turn
	if known.Turn {
		if turn, err = readTurn(q, d.id); err != nil {
			return err
		}
	}
	if d.doc, err = known.document(d.kind, data, turn); err != nil || d.doc.ID != d.id {
		i.log.WarnContext(ctx, "resource cannot be searched: its bytes cannot be read", "kind", d.kind, "id", d.id)
		return nil
	}
	d.found = true
	return nil
}

// byKind goes through rows kind by kind.
func byKind(rows []dirty) func(yield func(kind string, of []dirty) bool) {
	return func(yield func(string, []dirty) bool) {
		for from := 0; from < len(rows); {
			to := from
			for to < len(rows) && rows[to].kind == rows[from].kind {
				to++
			}
			if !yield(rows[from].kind, rows[from:to]) {
				return
			}
			from = to
		}
	}
}

// places are the parameters for so many values: a power of two, so that statements are few.
func places(n int) string { return "(?" + strings.Repeat(",?", padded(n)-1) + ")" }

func padded(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}

// ids are a kind and the ids of rows, as values of places.
func ids(kind string, rows []dirty) []any {
	args := []any{kind}
	for _, d := range rows {
		args = append(args, d.id)
	}
	for n := len(rows); n < padded(len(rows)); n++ {
		args = append(args, rows[len(rows)-1].id)
	}
	return args
}

// readTurn reads what was said in a turn: its input, and the newest words of the model.
func readTurn(q sqldb.Querier, execution string) (Turn, error) {
	var session string
	var input []byte
	err := q.Row("SELECT session, input FROM executions WHERE id = ?", execution).Scan(&session, &input)
	if errors.Is(err, sqldb.ErrNoRows) {
		return Turn{}, nil
	}
	if err != nil {
		return Turn{}, err
	}
	item := &messagev1.Item{}
	if err := proto.Unmarshal(input, item); err != nil {
		return Turn{}, nil
	}
	turn := Turn{Input: item.GetUser().GetText()}
	err = q.Rows(func(r sqldb.Scanner) error {
		var data []byte
		if err := r.Scan(&data); err != nil {
			return err
		}
		item := &messagev1.Item{}
		if proto.Unmarshal(data, item) != nil {
			return nil
		}
		for _, part := range item.GetAssistant().GetParts() {
			turn.Answer += part.GetText()
		}
		if turn.Answer != "" {
			return errEnough
		}
		return nil
	}, "SELECT item FROM history WHERE session = ? AND execution = ? ORDER BY position DESC", session, execution)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return turn, err
}

var errEnough = errors.New("the answer was found")
