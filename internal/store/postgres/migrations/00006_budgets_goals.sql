-- +goose Up
-- Whose input a model request answers, and which requests are under way.
ALTER TABLE dispatches ADD COLUMN IF NOT EXISTS member TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS dispatches_member ON dispatches (member, at) WHERE member <> '';
CREATE INDEX IF NOT EXISTS dispatches_open ON dispatches (org) WHERE state = 'dispatched';

-- What was settled under a budget since spent_since, the beginning of a period, and the
-- highest threshold that was told in it. '' means that nobody has counted yet.
ALTER TABLE budgets ADD COLUMN IF NOT EXISTS spent_since TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE budgets ADD COLUMN IF NOT EXISTS spent_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE budgets ADD COLUMN IF NOT EXISTS spent_nano_usd BIGINT NOT NULL DEFAULT 0;
ALTER TABLE budgets ADD COLUMN IF NOT EXISTS told BIGINT NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS goals (
  session    TEXT COLLATE "C" PRIMARY KEY,
  text       TEXT COLLATE "C" NOT NULL,
  version    BIGINT NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  reason     TEXT COLLATE "C" NOT NULL DEFAULT '',
  rationale  TEXT COLLATE "C" NOT NULL DEFAULT '',
  evidence   TEXT COLLATE "C" NOT NULL DEFAULT '',
  updated_at TEXT COLLATE "C" NOT NULL
);

-- +goose Down
SELECT 1;
