-- +goose Up
-- The lease of each sandbox, and who holds one. '' is no time.
CREATE TABLE IF NOT EXISTS sandboxes (
  scope      TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  liveness   TEXT COLLATE "C" NOT NULL,
  epoch      BIGINT NOT NULL,
  node       TEXT COLLATE "C" NOT NULL DEFAULT '',
  boot       TEXT COLLATE "C" NOT NULL DEFAULT '',
  until_at   TEXT COLLATE "C" NOT NULL DEFAULT '',
  image      TEXT COLLATE "C" NOT NULL DEFAULT '',
  root       TEXT COLLATE "C" NOT NULL DEFAULT '',
  warm_at    TEXT COLLATE "C" NOT NULL DEFAULT '',
  idle_at    TEXT COLLATE "C" NOT NULL DEFAULT '',
  deadline   TEXT COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (scope, id)
);
CREATE TABLE IF NOT EXISTS sandbox_holders (
  scope      TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  holder     TEXT COLLATE "C" NOT NULL,
  execution  TEXT COLLATE "C" NOT NULL,
  until_at   TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (scope, id, holder)
);

-- +goose Down
SELECT 1;
