-- +goose Up
-- How often an execution was tried again by itself since its last whole answer, and why.
ALTER TABLE executions ADD COLUMN recoveries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN overloads INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN overloaded_at TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN recovered_from TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
