package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// tables are those that this release writes, in the order of their names.
var tables = []string{
	"attempts", "boot_state", "budgets", "commit_slots", "dispatches", "events", "executions", "goals", "history",
	"idempotency", "leases", "nodes", "oauth_grant", "outbox", "pending_oauth_state", "resource_labels", "resources",
	"sandbox_holders", "sandboxes",
	"schedule_runs", "search_counts", "search_dirty", "search_documents_a", "search_documents_b", "search_postings_a",
	"search_postings_b", "search_state", "search_texts_a", "search_texts_b", "sessions", "signal_dedupe", "timers",
	"tool_calls", "version_history", "version_tags", "workflow_execution_events",
}

// healthTime bounds how long a look at the database's health may take.
const healthTime = 2 * time.Second

// Health proves that the database answers, is the one that was opened, and takes writes:
// STORE_READ_ONLY of a replica, STORE_RIGHTS when the user lacks some, STORE_REPLACED. It
// writes only when the newest write failed, to see whether one would work again.
func (d *database) Health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	if err := d.writable(ctx); err != nil {
		return err
	}
	if d.sick.Load() == nil {
		return nil
	}
	return d.Write(ctx, "health", "", func(t sqldb.Tx) error {
		return t.Exec("INSERT INTO boot_state (key, value) VALUES ('health', 'tried') ON CONFLICT (key) DO UPDATE SET value = excluded.value")
	})
}

// writable looks at what would refuse a write.
func (d *database) writable(ctx context.Context) error {
	var readOnly bool
	var is, poor string
	err := d.Read(ctx).Row(`SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
		coalesce((SELECT value FROM boot_state WHERE key = ?), ''),
		coalesce((SELECT string_agg(name, ', ') FROM unnest(?::text[]) AS name WHERE CASE WHEN to_regclass(name) IS NULL THEN false ELSE NOT (
			has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT') AND has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE')) END), '')`,
		identityKey, tables).Scan(&readOnly, &is, &poor)
	switch {
	case state(err) == noTable, err == nil && is != d.id.Load():
		return errReplaced
	case err != nil:
		return err
	case readOnly:
		return replica()
	case poor != "":
		return rights(poor)
	}
	return nil
}

// rights is the fault for a user that may not write.
func rights(poor string) error {
	const most = 3
	if names := strings.Split(poor, ", "); len(names) > most {
		poor = strings.Join(names[:most], ", ") + " and others"
	}
	return fault.New(fault.FailedPrecondition, "STORE_RIGHTS",
		"the PostgreSQL database gives this user too few rights on its tables (%s): grant it SELECT, INSERT, UPDATE and DELETE on all of them", poor)
}
