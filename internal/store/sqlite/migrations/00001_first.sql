-- +goose Up
CREATE TABLE resources (
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  org        TEXT NOT NULL,
  slug       TEXT NOT NULL,
  name       TEXT NOT NULL,
  visibility TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  i1 TEXT NOT NULL, i2 TEXT NOT NULL, i3 TEXT NOT NULL, i4 TEXT NOT NULL,
  data       BLOB NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE UNIQUE INDEX resources_slug ON resources (kind, org, slug) WHERE slug <> '';
CREATE INDEX resources_created ON resources (kind, org, created_at, id);
CREATE INDEX resources_i1 ON resources (kind, org, i1, created_at, id);
CREATE INDEX resources_i2 ON resources (kind, org, i2, created_at, id);

CREATE TABLE resource_labels (
  kind TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (kind, id, key)
) WITHOUT ROWID;
CREATE INDEX resource_labels_value ON resource_labels (kind, key, value);

CREATE TABLE idempotency (
  scope TEXT PRIMARY KEY, digest TEXT NOT NULL, answer BLOB NOT NULL, expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idempotency_expires ON idempotency (expires_at);

CREATE TABLE boot_state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sessions (
  id          TEXT PRIMARY KEY,
  org         TEXT NOT NULL,
  root        TEXT NOT NULL,
  depth       INTEGER NOT NULL,
  workspace   TEXT NOT NULL,
  reject      INTEGER NOT NULL,
  last_seq    INTEGER NOT NULL DEFAULT 0,
  tree_seq    INTEGER NOT NULL DEFAULT 0,
  history_len INTEGER NOT NULL DEFAULT 0,
  positions   INTEGER NOT NULL DEFAULT 0,
  revision    INTEGER NOT NULL DEFAULT 0,
  active      TEXT NOT NULL DEFAULT '',
  open        INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX sessions_open ON sessions (id) WHERE open > 0;

CREATE TABLE executions (
  id           TEXT PRIMARY KEY,
  session      TEXT NOT NULL,
  position     INTEGER NOT NULL,
  state        TEXT NOT NULL,
  generation   INTEGER NOT NULL DEFAULT 0,
  attempt      TEXT NOT NULL DEFAULT '',
  input_id     TEXT NOT NULL,
  input        BLOB NOT NULL,
  policy       BLOB,
  cancelled    INTEGER NOT NULL DEFAULT 0,
  reason       TEXT NOT NULL DEFAULT '',
  waiting_for  TEXT NOT NULL DEFAULT '',
  calls        INTEGER NOT NULL DEFAULT 0,
  tool_calls   INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  estimated    INTEGER NOT NULL DEFAULT 0,
  handed_off   INTEGER NOT NULL DEFAULT 0,
  redispatches INTEGER NOT NULL DEFAULT 0,
  started_at   TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE UNIQUE INDEX executions_queue ON executions (session, position);

CREATE TABLE attempts (
  id         TEXT PRIMARY KEY,
  session    TEXT NOT NULL,
  execution  TEXT NOT NULL,
  generation INTEGER NOT NULL,
  state      TEXT NOT NULL,
  boot       TEXT NOT NULL,
  workflow   TEXT NOT NULL,
  run        TEXT NOT NULL,
  activity   TEXT NOT NULL,
  claimed_at TEXT NOT NULL,
  closed_at  TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE UNIQUE INDEX attempts_live ON attempts (session) WHERE state = 'live';
CREATE INDEX attempts_execution ON attempts (execution);

CREATE TABLE events (
  session     TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  root        TEXT NOT NULL,
  tree_seq    INTEGER NOT NULL,
  depth       INTEGER NOT NULL,
  type        TEXT NOT NULL,
  data        BLOB NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE UNIQUE INDEX events_tree ON events (root, tree_seq);

CREATE TABLE history (
  session TEXT NOT NULL, position INTEGER NOT NULL, execution TEXT NOT NULL, item BLOB NOT NULL,
  PRIMARY KEY (session, position)
) WITHOUT ROWID;

CREATE TABLE dispatches (
  execution TEXT NOT NULL, number INTEGER NOT NULL,
  session TEXT NOT NULL, org TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL,
  state TEXT NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL DEFAULT 0, reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  estimated INTEGER NOT NULL DEFAULT 0,
  response_id TEXT NOT NULL DEFAULT '',
  at TEXT NOT NULL,
  PRIMARY KEY (execution, number)
) WITHOUT ROWID;

CREATE TABLE tool_calls (
  execution TEXT NOT NULL, call_id TEXT NOT NULL, number INTEGER NOT NULL, position INTEGER NOT NULL,
  state TEXT NOT NULL, class TEXT NOT NULL DEFAULT '', call BLOB NOT NULL, mutation BLOB,
  PRIMARY KEY (execution, call_id)
) WITHOUT ROWID;

CREATE TABLE outbox (session TEXT PRIMARY KEY, revision INTEGER NOT NULL, created_at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE timers (
  session TEXT NOT NULL, name TEXT NOT NULL, due_at TEXT NOT NULL, PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE INDEX timers_due ON timers (due_at);

-- +goose Down
SELECT 1;
