package relational

import (
	"context"
	"fmt"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// usageKeys are the columns that groups are made by.
var usageKeys = map[store.UsageKey]string{
	store.UsageByOrg: "org", store.UsageByAgent: "agent", store.UsageBySession: "session", store.UsageByExecution: "execution",
	store.UsageByModel: "model", store.UsageByDay: "substr(at, 1, 10)",
}

const usageSums = `count(*), coalesce(sum(CASE WHEN state = 'dispatched' THEN 1 ELSE 0 END), 0), CAST(coalesce(sum(input_tokens), 0) AS BIGINT), CAST(coalesce(sum(output_tokens), 0) AS BIGINT),
	CAST(coalesce(sum(cached_tokens), 0) AS BIGINT), CAST(coalesce(sum(reasoning_tokens), 0) AS BIGINT), coalesce(max(CASE WHEN estimated OR state = 'dispatched' THEN 1 ELSE 0 END), 0) = 1, CAST(coalesce(sum(cost), 0) AS BIGINT),
	CAST(coalesce(sum(unpriced), 0) AS BIGINT), CAST(coalesce(sum(cache_write_tokens), 0) AS BIGINT), coalesce(min(at), ''), coalesce(max(at), '')`

// Usage adds up model requests.
func (s *Store) Usage(ctx context.Context, q store.UsageQuery) (store.UsageSums, error) {
	key, ok := usageKeys[q.By]
	if !ok || q.Limit <= 0 {
		return store.UsageSums{}, badQuery("usage by %q with the limit %d", q.By, q.Limit)
	}
	where, args := usageWhere(q)
	order := "sum(input_tokens) + sum(output_tokens) DESC, 1"
	if q.By == store.UsageByDay {
		order = "1"
	}
	var sums store.UsageSums
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		sum, err := scanUsage(r, true)
		sums.Groups = append(sums.Groups, sum)
		return err
	}, fmt.Sprintf("SELECT %s, %s FROM dispatches%s GROUP BY 1 ORDER BY %s LIMIT %d", key, usageSums, where, order, q.Limit+1), args...)
	if err != nil {
		return store.UsageSums{}, err
	}
	if sums.More = len(sums.Groups) > q.Limit; sums.More {
		sums.Groups = sums.Groups[:q.Limit]
	}
	sums.Total, err = scanUsage(s.db.Read(ctx).Row("SELECT "+usageSums+" FROM dispatches"+where, args...), false)
	return sums, err
}

func usageWhere(q store.UsageQuery) (string, []any) {
	var all []string
	var args []any
	add := func(condition, value string) {
		if value != "" {
			all, args = append(all, condition), append(args, value)
		}
	}
	add("org = ?", q.Org)
	add("agent = ?", q.Agent)
	add("session = ?", q.Session)
	add("execution = ?", q.Execution)
	if !q.Since.IsZero() {
		add("at >= ?", sqldb.Stamp(q.Since))
	}
	if !q.Until.IsZero() {
		add("at < ?", sqldb.Stamp(q.Until))
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

func scanUsage(r sqldb.Scanner, keyed bool) (store.UsageSum, error) {
	u := &messagev1.Usage{}
	sum := store.UsageSum{Usage: u}
	var first, last string
	to := []any{
		&sum.Calls, &sum.Open, &u.InputTokens, &u.OutputTokens, &u.CachedInputTokens, &u.ReasoningTokens, &u.Estimated, &u.CostNanoUsd,
		&u.UnpricedCalls, &u.CacheWriteInputTokens, &first, &last,
	}
	if keyed {
		to = append([]any{&sum.Key}, to...)
	}
	err := r.Scan(to...)
	sum.First, sum.Last = sqldb.Unstamp(first), sqldb.Unstamp(last)
	return sum, err
}
