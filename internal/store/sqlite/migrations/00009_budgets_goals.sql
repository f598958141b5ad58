-- +goose Up
-- Whose input a model request answers, and which requests are under way.
ALTER TABLE dispatches ADD COLUMN member TEXT NOT NULL DEFAULT '';
CREATE INDEX dispatches_member ON dispatches (member, at) WHERE member <> '';
CREATE INDEX dispatches_open ON dispatches (org) WHERE state = 'dispatched';

-- What was settled under a budget since spent_since, the beginning of a period, and the
-- highest threshold that was told in it. '' means that nobody has counted yet.
ALTER TABLE budgets ADD COLUMN spent_since TEXT NOT NULL DEFAULT '';
ALTER TABLE budgets ADD COLUMN spent_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budgets ADD COLUMN spent_nano_usd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budgets ADD COLUMN told INTEGER NOT NULL DEFAULT 0;

CREATE TABLE goals (
  session    TEXT PRIMARY KEY,
  text       TEXT NOT NULL,
  version    INTEGER NOT NULL,
  status     TEXT NOT NULL,
  reason     TEXT NOT NULL DEFAULT '',
  rationale  TEXT NOT NULL DEFAULT '',
  evidence   TEXT NOT NULL DEFAULT '',
  updated_at TEXT NOT NULL
) WITHOUT ROWID;

-- +goose Down
SELECT 1;
