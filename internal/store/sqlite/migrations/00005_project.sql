-- +goose Up
-- The kind project is retired: its rows go, with their labels and their history.
DELETE FROM resources WHERE kind = 'project';
DELETE FROM resource_labels WHERE kind = 'project';
DELETE FROM version_history WHERE kind = 'project';
DELETE FROM version_tags WHERE kind = 'project';

-- +goose Down
SELECT 1;
