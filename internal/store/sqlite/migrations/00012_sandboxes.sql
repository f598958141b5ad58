-- +goose Up
-- The lease of each sandbox, and who holds one. '' is no time.
CREATE TABLE sandboxes (
  scope      TEXT NOT NULL,
  id         TEXT NOT NULL,
  liveness   TEXT NOT NULL,
  epoch      INTEGER NOT NULL,
  node       TEXT NOT NULL DEFAULT '',
  boot       TEXT NOT NULL DEFAULT '',
  until_at   TEXT NOT NULL DEFAULT '',
  image      TEXT NOT NULL DEFAULT '',
  root       TEXT NOT NULL DEFAULT '',
  warm_at    TEXT NOT NULL DEFAULT '',
  idle_at    TEXT NOT NULL DEFAULT '',
  deadline   TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (scope, id)
) WITHOUT ROWID;
CREATE TABLE sandbox_holders (
  scope      TEXT NOT NULL,
  id         TEXT NOT NULL,
  holder     TEXT NOT NULL,
  execution  TEXT NOT NULL,
  until_at   TEXT NOT NULL,
  PRIMARY KEY (scope, id, holder)
) WITHOUT ROWID;

-- +goose Down
SELECT 1;
