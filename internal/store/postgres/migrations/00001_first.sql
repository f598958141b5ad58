-- +goose Up
-- Texts compare by their bytes, as they do in every other database of Cadre.
CREATE TABLE resources (
  kind       TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  org        TEXT COLLATE "C" NOT NULL,
  slug       TEXT COLLATE "C" NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  visibility TEXT COLLATE "C" NOT NULL,
  version    BIGINT NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  updated_at TEXT COLLATE "C" NOT NULL,
  i1 TEXT COLLATE "C" NOT NULL, i2 TEXT COLLATE "C" NOT NULL, i3 TEXT COLLATE "C" NOT NULL, i4 TEXT COLLATE "C" NOT NULL,
  data       BYTEA NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE UNIQUE INDEX resources_slug ON resources (kind, org, slug) WHERE slug <> '';
CREATE INDEX resources_created ON resources (kind, org, created_at, id);
CREATE INDEX resources_i1 ON resources (kind, org, i1, created_at, id);
CREATE INDEX resources_i2 ON resources (kind, org, i2, created_at, id);

CREATE TABLE resource_labels (
  kind TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL, value TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, id, key)
);
CREATE INDEX resource_labels_value ON resource_labels (kind, key, value);

CREATE TABLE idempotency (
  scope TEXT COLLATE "C" PRIMARY KEY, digest TEXT COLLATE "C" NOT NULL, answer BYTEA NOT NULL, expires_at BIGINT NOT NULL
);
CREATE INDEX idempotency_expires ON idempotency (expires_at);

CREATE TABLE boot_state (key TEXT COLLATE "C" PRIMARY KEY, value TEXT COLLATE "C" NOT NULL);

CREATE TABLE sessions (
  id          TEXT COLLATE "C" PRIMARY KEY,
  org         TEXT COLLATE "C" NOT NULL,
  root        TEXT COLLATE "C" NOT NULL,
  depth       BIGINT NOT NULL,
  workspace   TEXT COLLATE "C" NOT NULL,
  reject      BOOLEAN NOT NULL,
  last_seq    BIGINT NOT NULL DEFAULT 0,
  tree_seq    BIGINT NOT NULL DEFAULT 0,
  history_len BIGINT NOT NULL DEFAULT 0,
  positions   BIGINT NOT NULL DEFAULT 0,
  revision    BIGINT NOT NULL DEFAULT 0,
  active      TEXT COLLATE "C" NOT NULL DEFAULT '',
  open        BIGINT NOT NULL DEFAULT 0,
  removed_seq BIGINT NOT NULL DEFAULT 0, removed_tree BIGINT NOT NULL DEFAULT 0, swept_seq BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX sessions_open ON sessions (id) WHERE open > 0;

CREATE TABLE executions (
  id           TEXT COLLATE "C" PRIMARY KEY,
  session      TEXT COLLATE "C" NOT NULL,
  position     BIGINT NOT NULL,
  state        TEXT COLLATE "C" NOT NULL,
  generation   BIGINT NOT NULL DEFAULT 0,
  attempt      TEXT COLLATE "C" NOT NULL DEFAULT '',
  input_id     TEXT COLLATE "C" NOT NULL,
  input        BYTEA NOT NULL,
  policy       BYTEA,
  cancelled    BOOLEAN NOT NULL DEFAULT FALSE,
  reason       TEXT COLLATE "C" NOT NULL DEFAULT '',
  waiting_for  TEXT COLLATE "C" NOT NULL DEFAULT '',
  calls        BIGINT NOT NULL DEFAULT 0,
  tool_calls   BIGINT NOT NULL DEFAULT 0,
  input_tokens BIGINT NOT NULL DEFAULT 0,
  output_tokens BIGINT NOT NULL DEFAULT 0,
  cached_tokens BIGINT NOT NULL DEFAULT 0,
  reasoning_tokens BIGINT NOT NULL DEFAULT 0,
  estimated    BOOLEAN NOT NULL DEFAULT FALSE,
  cost BIGINT NOT NULL DEFAULT 0, unpriced BIGINT NOT NULL DEFAULT 0, cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  handed_off   BOOLEAN NOT NULL DEFAULT FALSE,
  redispatches BIGINT NOT NULL DEFAULT 0,
  started_at   TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX executions_queue ON executions (session, position);

CREATE TABLE attempts (
  id         TEXT COLLATE "C" PRIMARY KEY,
  session    TEXT COLLATE "C" NOT NULL,
  execution  TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  state      TEXT COLLATE "C" NOT NULL,
  boot       TEXT COLLATE "C" NOT NULL,
  node       TEXT COLLATE "C" NOT NULL,
  workflow   TEXT COLLATE "C" NOT NULL,
  run        TEXT COLLATE "C" NOT NULL,
  activity   TEXT COLLATE "C" NOT NULL,
  claimed_at TEXT COLLATE "C" NOT NULL,
  closed_at  TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX attempts_live ON attempts (session) WHERE state = 'live';
CREATE INDEX attempts_execution ON attempts (execution);

CREATE TABLE events (
  session     TEXT COLLATE "C" NOT NULL,
  seq         BIGINT NOT NULL,
  root        TEXT COLLATE "C" NOT NULL,
  tree_seq    BIGINT NOT NULL,
  depth       BIGINT NOT NULL,
  type        TEXT COLLATE "C" NOT NULL,
  data        BYTEA NOT NULL,
  PRIMARY KEY (session, seq)
);
CREATE UNIQUE INDEX events_tree ON events (root, tree_seq);

CREATE TABLE history (
  session TEXT COLLATE "C" NOT NULL, position BIGINT NOT NULL, execution TEXT COLLATE "C" NOT NULL, item BYTEA NOT NULL,
  PRIMARY KEY (session, position)
);

CREATE TABLE dispatches (
  execution TEXT COLLATE "C" NOT NULL, number BIGINT NOT NULL,
  session TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, agent TEXT COLLATE "C" NOT NULL, model TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
  cached_tokens BIGINT NOT NULL DEFAULT 0, reasoning_tokens BIGINT NOT NULL DEFAULT 0,
  estimated BOOLEAN NOT NULL DEFAULT FALSE,
  cost BIGINT NOT NULL DEFAULT 0, unpriced BIGINT NOT NULL DEFAULT 0, cache_write_tokens BIGINT NOT NULL DEFAULT 0,
  response_id TEXT COLLATE "C" NOT NULL DEFAULT '',
  at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (execution, number)
);

CREATE INDEX dispatches_at ON dispatches (org, at);
CREATE INDEX dispatches_session ON dispatches (session);

CREATE TABLE tool_calls (
  execution TEXT COLLATE "C" NOT NULL, call_id TEXT COLLATE "C" NOT NULL, number BIGINT NOT NULL, position BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL, class TEXT COLLATE "C" NOT NULL DEFAULT '', call BYTEA NOT NULL, mutation BYTEA,
  PRIMARY KEY (execution, call_id)
);

CREATE TABLE outbox (session TEXT COLLATE "C" PRIMARY KEY, revision BIGINT NOT NULL, created_at TEXT COLLATE "C" NOT NULL);
CREATE TABLE timers (
  session TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, due_at TEXT COLLATE "C" NOT NULL, PRIMARY KEY (session, name)
);
CREATE INDEX timers_due ON timers (due_at);

-- Search: what is indexed, and what waits for it. What changed is written with the change
-- itself; bulk marks rows that only a rebuild of the index waits for.
CREATE TABLE search_dirty (
  kind TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, ticket BIGINT NOT NULL, bulk SMALLINT NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX search_dirty_order ON search_dirty (bulk, kind, id);

CREATE TABLE search_state (
  id SMALLINT PRIMARY KEY, current BIGINT NOT NULL, extractors TEXT COLLATE "C" NOT NULL,
  building BIGINT NOT NULL, holder TEXT COLLATE "C" NOT NULL, expires_at TEXT COLLATE "C" NOT NULL
);
INSERT INTO search_state (id, current, extractors, building, holder, expires_at) VALUES (1, 1, '', 0, '', '');

-- Two sets of tables: a generation with an even number lives in a, the others in b. Words
-- are cut by the server, not by a text search configuration.
CREATE TABLE search_documents_a (
  docid BIGINT PRIMARY KEY, kind TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, public SMALLINT NOT NULL,
  slug TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, tags TEXT COLLATE "C" NOT NULL, visibility TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL, session TEXT COLLATE "C" NOT NULL, digest TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C" NOT NULL, body TEXT COLLATE "C" NOT NULL, title TSVECTOR NOT NULL, terms TSVECTOR NOT NULL
);
CREATE UNIQUE INDEX search_documents_a_key ON search_documents_a (kind, id);
CREATE INDEX search_documents_a_org ON search_documents_a (org, docid);
CREATE INDEX search_documents_a_kind ON search_documents_a (kind, docid);
CREATE INDEX search_documents_a_title ON search_documents_a USING gin (title) WITH (fastupdate = off);
CREATE INDEX search_documents_a_terms ON search_documents_a USING gin (terms) WITH (fastupdate = off);
CREATE TABLE search_documents_b (
  docid BIGINT PRIMARY KEY, kind TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, public SMALLINT NOT NULL,
  slug TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, tags TEXT COLLATE "C" NOT NULL, visibility TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL, session TEXT COLLATE "C" NOT NULL, digest TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C" NOT NULL, body TEXT COLLATE "C" NOT NULL, title TSVECTOR NOT NULL, terms TSVECTOR NOT NULL
);
CREATE UNIQUE INDEX search_documents_b_key ON search_documents_b (kind, id);
CREATE INDEX search_documents_b_org ON search_documents_b (org, docid);
CREATE INDEX search_documents_b_kind ON search_documents_b (kind, docid);
CREATE INDEX search_documents_b_title ON search_documents_b USING gin (title) WITH (fastupdate = off);
CREATE INDEX search_documents_b_terms ON search_documents_b USING gin (terms) WITH (fastupdate = off);

CREATE TABLE search_counts (
  slot TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, kind TEXT COLLATE "C" NOT NULL, public SMALLINT NOT NULL, documents BIGINT NOT NULL,
  PRIMARY KEY (slot, org, kind, public)
);

-- Version history, workflow events, schedules, signals, grants, budgets, leases.
CREATE TABLE version_history (
  kind TEXT COLLATE "C" NOT NULL, resource_id TEXT COLLATE "C" NOT NULL, number BIGINT NOT NULL,
  hash TEXT COLLATE "C" NOT NULL, data BYTEA NOT NULL, created_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, resource_id, number)
);
CREATE INDEX version_history_hash ON version_history (kind, resource_id, hash, number);
CREATE TABLE version_tags (
  kind TEXT COLLATE "C" NOT NULL, resource_id TEXT COLLATE "C" NOT NULL, tag TEXT COLLATE "C" NOT NULL, number BIGINT NOT NULL,
  PRIMARY KEY (kind, resource_id, tag)
);

CREATE TABLE workflow_execution_events (
  execution TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, type TEXT COLLATE "C" NOT NULL, task TEXT COLLATE "C" NOT NULL,
  data BYTEA NOT NULL, created_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (execution, seq)
);

CREATE TABLE schedule_runs (
  schedule TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, due_at TEXT COLLATE "C" NOT NULL, state TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C" NOT NULL, detail TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (schedule, id)
);
CREATE INDEX schedule_runs_due ON schedule_runs (schedule, due_at, id);
CREATE INDEX schedule_runs_updated ON schedule_runs (updated_at);

CREATE TABLE signal_dedupe (
  id TEXT COLLATE "C" PRIMARY KEY, claim TEXT COLLATE "C" NOT NULL, delivered BOOLEAN NOT NULL, answer TEXT COLLATE "C" NOT NULL, expires_at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX signal_dedupe_expires ON signal_dedupe (expires_at);

CREATE TABLE oauth_grant (
  identity_id TEXT COLLATE "C" NOT NULL, resource_id TEXT COLLATE "C" NOT NULL, org_id TEXT COLLATE "C" NOT NULL,
  sealed BYTEA NOT NULL, expires_at TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (identity_id, resource_id, org_id)
);
CREATE TABLE pending_oauth_state (state TEXT COLLATE "C" PRIMARY KEY, sealed BYTEA NOT NULL, expires_at TEXT COLLATE "C" NOT NULL);
CREATE INDEX pending_oauth_state_expires ON pending_oauth_state (expires_at);

CREATE TABLE budgets (
  scope TEXT COLLATE "C" NOT NULL, scope_id TEXT COLLATE "C" NOT NULL, period TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL,
  tokens BIGINT NOT NULL, nano_usd BIGINT NOT NULL, thresholds TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (scope, scope_id, period)
);
CREATE INDEX budgets_org ON budgets (org, scope, scope_id, period);
CREATE INDEX dispatches_agent ON dispatches (agent, at);

CREATE TABLE leases (name TEXT COLLATE "C" PRIMARY KEY, holder TEXT COLLATE "C" NOT NULL, epoch BIGINT NOT NULL, expires_at TEXT COLLATE "C" NOT NULL);

-- What each place for transactions of a server committed last: a commit whose answer was
-- lost is looked up here.
CREATE TABLE commit_slots (
  slot  TEXT COLLATE "C" PRIMARY KEY,
  token BIGINT NOT NULL,
  at    TIMESTAMPTZ NOT NULL
);

-- Servers that share this database. Their clock is the database's.
CREATE TABLE nodes (
  id      TEXT COLLATE "C" PRIMARY KEY,
  boot    TEXT COLLATE "C" NOT NULL,
  host    TEXT COLLATE "C" NOT NULL,
  engine  TEXT COLLATE "C" NOT NULL,
  seen_at TIMESTAMPTZ NOT NULL
);

-- +goose Down
SELECT 1;
