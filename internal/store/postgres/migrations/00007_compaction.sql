-- +goose Up
-- Where the history that the model is shown begins, how many of its items the newest compaction
-- wrote (0: there was none, and the history begins with the session), and how many tokens the
-- newest answer and what it answers took, up to which position.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS history_start BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS history_kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS used_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS used_to BIGINT NOT NULL DEFAULT 0;

-- +goose Down
SELECT 1;
