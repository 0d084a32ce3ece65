-- The house rules of lore of a user: an object as JSON; none = as they are shipped.
ALTER TABLE users ADD COLUMN lore TEXT;
-- The texts of entries that may be called up by what they mean: their vectors stay as long as the book does. Derived.
CREATE TABLE lore_texts (
    n INTEGER NOT NULL PRIMARY KEY,
    lorebook_n BIGINT NOT NULL REFERENCES lorebooks (n),
    hash BLOB NOT NULL
);
CREATE INDEX lore_texts_by_book ON lore_texts (lorebook_n);
CREATE INDEX lore_texts_by_hash ON lore_texts (hash);
-- Up to which change of a book a model of embeddings has made its vectors. Derived.
CREATE TABLE lore_embedded (
    n INTEGER NOT NULL PRIMARY KEY,
    lorebook_n BIGINT NOT NULL REFERENCES lorebooks (n),
    model TEXT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE UNIQUE INDEX lore_embedded_by_book ON lore_embedded (lorebook_n, model);
-- Which book has changed is looked for without reading any book.
CREATE INDEX lorebooks_by_change ON lorebooks (updated, trashed);
