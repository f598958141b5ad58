-- +goose Up
-- The texts that passages are cut from lie apart from what is found and ranked by, so that
-- ranking reads few pages.
CREATE TABLE search_texts_a (docid INTEGER PRIMARY KEY, body TEXT NOT NULL);
INSERT INTO search_texts_a (docid, body) SELECT docid, body FROM search_documents_a;
ALTER TABLE search_documents_a DROP COLUMN body;

CREATE TABLE search_texts_b (docid INTEGER PRIMARY KEY, body TEXT NOT NULL);
INSERT INTO search_texts_b (docid, body) SELECT docid, body FROM search_documents_b;
ALTER TABLE search_documents_b DROP COLUMN body;

-- +goose Down
SELECT 1;
