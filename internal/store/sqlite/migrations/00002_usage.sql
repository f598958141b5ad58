-- +goose Up
-- What model requests cost. Of requests before this step no price was kept: they
-- count as unpriced.
ALTER TABLE dispatches ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dispatches ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dispatches ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
UPDATE dispatches SET unpriced = 1 WHERE input_tokens + output_tokens > 0;
CREATE INDEX dispatches_at ON dispatches (org, at);
CREATE INDEX dispatches_session ON dispatches (session);

ALTER TABLE executions ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
UPDATE executions SET unpriced = calls WHERE input_tokens + output_tokens > 0;

-- +goose Down
SELECT 1;
