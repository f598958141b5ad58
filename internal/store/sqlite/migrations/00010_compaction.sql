-- +goose Up
-- Where the history that the model is shown begins, how many of its items the newest compaction
-- wrote (0: there was none, and the history begins with the session), and how many tokens the
-- newest answer and what it answers took, up to which position.
ALTER TABLE sessions ADD COLUMN history_start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN history_kept INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN used_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN used_to INTEGER NOT NULL DEFAULT 0;

-- +goose Down
SELECT 1;
