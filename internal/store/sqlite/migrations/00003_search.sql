-- +goose Up
-- Search. What changed and is not in the index yet: written with the change itself.
-- bulk marks rows that only a rebuild of the index waits for.
CREATE TABLE search_dirty (
  kind TEXT NOT NULL, id TEXT NOT NULL, ticket INTEGER NOT NULL, bulk INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX search_dirty_order ON search_dirty (bulk, kind, id);

-- Which generation of the index answers, which one is being filled, and by whom.
CREATE TABLE search_state (
  id INTEGER PRIMARY KEY, current INTEGER NOT NULL, extractors TEXT NOT NULL,
  building INTEGER NOT NULL, holder TEXT NOT NULL, expires_at TEXT NOT NULL
);
INSERT INTO search_state (id, current, extractors, building, holder, expires_at) VALUES (1, 1, '', 0, '', '');

-- Two sets of tables: a generation with an even number lives in a, the others in b.
-- docid grows with the time of creation, so that the newest come first without sorting.
CREATE TABLE search_documents_a (
  docid INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, org TEXT NOT NULL, public INTEGER NOT NULL,
  slug TEXT NOT NULL, name TEXT NOT NULL, tags TEXT NOT NULL, visibility TEXT NOT NULL, created_at TEXT NOT NULL,
  session TEXT NOT NULL, digest TEXT NOT NULL, description TEXT NOT NULL, body TEXT NOT NULL
);
CREATE UNIQUE INDEX search_documents_a_key ON search_documents_a (kind, id);
CREATE VIRTUAL TABLE search_titles_a USING fts5(terms, content='', contentless_delete=1, detail=none, prefix='3', tokenize="unicode61 remove_diacritics 0 tokenchars ':-_'");
CREATE VIRTUAL TABLE search_terms_a USING fts5(terms, content='', contentless_delete=1, detail=none, prefix='3', tokenize="unicode61 remove_diacritics 0 tokenchars ':-_'");

CREATE TABLE search_documents_b (
  docid INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, org TEXT NOT NULL, public INTEGER NOT NULL,
  slug TEXT NOT NULL, name TEXT NOT NULL, tags TEXT NOT NULL, visibility TEXT NOT NULL, created_at TEXT NOT NULL,
  session TEXT NOT NULL, digest TEXT NOT NULL, description TEXT NOT NULL, body TEXT NOT NULL
);
CREATE UNIQUE INDEX search_documents_b_key ON search_documents_b (kind, id);
CREATE VIRTUAL TABLE search_titles_b USING fts5(terms, content='', contentless_delete=1, detail=none, prefix='3', tokenize="unicode61 remove_diacritics 0 tokenchars ':-_'");
CREATE VIRTUAL TABLE search_terms_b USING fts5(terms, content='', contentless_delete=1, detail=none, prefix='3', tokenize="unicode61 remove_diacritics 0 tokenchars ':-_'");

-- How many documents there are, so that lists count without reading them.
CREATE TABLE search_counts (
  slot TEXT NOT NULL, org TEXT NOT NULL, kind TEXT NOT NULL, public INTEGER NOT NULL, documents INTEGER NOT NULL,
  PRIMARY KEY (slot, org, kind, public)
) WITHOUT ROWID;

-- The words of the index, for the beginnings of words.
CREATE TABLE search_words_a (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE search_words_b (word TEXT PRIMARY KEY) WITHOUT ROWID;

-- +goose Down
SELECT 1;
