-- +goose Up
-- A resource that is deleted takes everybody's grants for it along.
CREATE INDEX IF NOT EXISTS idx_oauth_grant_resource ON oauth_grant (resource_id, org_id);

-- +goose Down
SELECT 1;
