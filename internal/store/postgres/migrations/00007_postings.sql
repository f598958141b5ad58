-- +goose Up
-- Search keeps lists of documents by word instead of text search columns. The index holds
-- no truth: it is emptied here and filled anew after the start.
DROP TABLE IF EXISTS search_documents_a, search_texts_a, search_postings_a;
DROP TABLE IF EXISTS search_documents_b, search_texts_b, search_postings_b;

-- What is found and ranked by; the texts that passages are cut from lie apart, so that
-- ranking reads few pages.
CREATE TABLE search_documents_a (
  docid BIGINT PRIMARY KEY, kind TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, public SMALLINT NOT NULL,
  slug TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, tags TEXT COLLATE "C" NOT NULL, visibility TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL, session TEXT COLLATE "C" NOT NULL, digest TEXT COLLATE "C" NOT NULL, description TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX search_documents_a_key ON search_documents_a (kind, id);
CREATE TABLE search_texts_a (docid BIGINT PRIMARY KEY, body TEXT COLLATE "C" NOT NULL);

CREATE TABLE search_documents_b (
  docid BIGINT PRIMARY KEY, kind TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, org TEXT COLLATE "C" NOT NULL, public SMALLINT NOT NULL,
  slug TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, tags TEXT COLLATE "C" NOT NULL, visibility TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL, session TEXT COLLATE "C" NOT NULL, digest TEXT COLLATE "C" NOT NULL, description TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX search_documents_b_key ON search_documents_b (kind, id);
CREATE TABLE search_texts_b (docid BIGINT PRIMARY KEY, body TEXT COLLATE "C" NOT NULL);

-- A list is a word of a scope. Its documents lie in blocks: each has those from low up to
-- the next block's low. Blocks are rewritten in place, which wants room in their pages.
CREATE TABLE search_postings_a (
  list TEXT COLLATE "C" NOT NULL, low BIGINT NOT NULL, documents SMALLINT NOT NULL, docids BYTEA NOT NULL, PRIMARY KEY (list, low)
) WITH (fillfactor = 75);
ALTER TABLE search_postings_a ALTER COLUMN docids SET STORAGE PLAIN;
CREATE TABLE search_postings_b (
  list TEXT COLLATE "C" NOT NULL, low BIGINT NOT NULL, documents SMALLINT NOT NULL, docids BYTEA NOT NULL, PRIMARY KEY (list, low)
) WITH (fillfactor = 75);
ALTER TABLE search_postings_b ALTER COLUMN docids SET STORAGE PLAIN;

DELETE FROM search_counts;
DELETE FROM search_dirty WHERE bulk = 1;
UPDATE search_state SET extractors = '', building = 0, holder = '', expires_at = '';

-- +goose Down
SELECT 1;
