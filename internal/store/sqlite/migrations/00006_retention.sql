-- +goose Up
-- How far a session's log was thinned out: the greatest number that was removed, the
-- same in the order of the tree at its root, and how far retention has looked.
ALTER TABLE sessions ADD COLUMN removed_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN removed_tree INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN swept_seq INTEGER NOT NULL DEFAULT 0;

-- +goose Down
SELECT 1;
