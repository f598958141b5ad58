-- +goose Up
-- How often an execution was tried again by itself since its last whole answer, and why.
ALTER TABLE executions ADD COLUMN IF NOT EXISTS recoveries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN IF NOT EXISTS overloads BIGINT NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN IF NOT EXISTS overloaded_at TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN IF NOT EXISTS recovered_from TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
