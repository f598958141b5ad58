-- +goose Up
-- The sweep of old workflow events looks for them by their time.
CREATE INDEX IF NOT EXISTS idx_wfee_created_at ON workflow_execution_events (created_at);

-- +goose Down
SELECT 1;
