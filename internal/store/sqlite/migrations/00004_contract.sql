-- +goose Up
-- Version history, workflow events, schedules, signals, grants, budgets, leases.
CREATE TABLE version_history (
  kind TEXT NOT NULL, resource_id TEXT NOT NULL, number INTEGER NOT NULL,
  hash TEXT NOT NULL, data BLOB NOT NULL, created_at TEXT NOT NULL,
  PRIMARY KEY (kind, resource_id, number)
);
CREATE INDEX version_history_hash ON version_history (kind, resource_id, hash, number);
CREATE TABLE version_tags (
  kind TEXT NOT NULL, resource_id TEXT NOT NULL, tag TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (kind, resource_id, tag)
) WITHOUT ROWID;

CREATE TABLE workflow_execution_events (
  execution TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, task TEXT NOT NULL,
  data BLOB NOT NULL, created_at TEXT NOT NULL,
  PRIMARY KEY (execution, seq)
);
CREATE INDEX idx_wfee_created_at ON workflow_execution_events (created_at);

CREATE TABLE schedule_runs (
  schedule TEXT NOT NULL, id TEXT NOT NULL, org TEXT NOT NULL, due_at TEXT NOT NULL, state TEXT NOT NULL,
  target TEXT NOT NULL, detail TEXT NOT NULL, updated_at TEXT NOT NULL,
  PRIMARY KEY (schedule, id)
) WITHOUT ROWID;
CREATE INDEX schedule_runs_due ON schedule_runs (schedule, due_at, id);
CREATE INDEX schedule_runs_updated ON schedule_runs (updated_at);

CREATE TABLE signal_dedupe (
  id TEXT PRIMARY KEY, claim TEXT NOT NULL, delivered INTEGER NOT NULL, answer TEXT NOT NULL, expires_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX signal_dedupe_expires ON signal_dedupe (expires_at);

CREATE TABLE oauth_grant (
  identity_id TEXT NOT NULL, resource_id TEXT NOT NULL, org_id TEXT NOT NULL,
  sealed BLOB NOT NULL, expires_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  PRIMARY KEY (identity_id, resource_id, org_id)
) WITHOUT ROWID;
CREATE INDEX idx_oauth_grant_resource ON oauth_grant (resource_id, org_id);
CREATE TABLE pending_oauth_state (state TEXT PRIMARY KEY, sealed BLOB NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX pending_oauth_state_expires ON pending_oauth_state (expires_at);

CREATE TABLE budgets (
  scope TEXT NOT NULL, scope_id TEXT NOT NULL, period TEXT NOT NULL, org TEXT NOT NULL,
  tokens INTEGER NOT NULL, nano_usd INTEGER NOT NULL, thresholds TEXT NOT NULL, updated_at TEXT NOT NULL,
  PRIMARY KEY (scope, scope_id, period)
) WITHOUT ROWID;
CREATE INDEX budgets_org ON budgets (org, scope, scope_id, period);
CREATE INDEX dispatches_agent ON dispatches (agent, at);

CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch INTEGER NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;

-- +goose Down
SELECT 1;
