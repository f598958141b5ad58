-- +goose Up
-- Which server made an attempt. Here it is always the one of the data folder.
ALTER TABLE attempts ADD COLUMN node TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
