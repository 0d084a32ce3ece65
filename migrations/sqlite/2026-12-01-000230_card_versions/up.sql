-- The versions of a character's card, by its id. A character without rows has one version: its present card.
CREATE TABLE card_versions (
    n INTEGER NOT NULL PRIMARY KEY,
    card BLOB NOT NULL,
    number BIGINT NOT NULL,
    -- The hash of what a version is compared by: the card without its picture, favourite mark and links to lorebooks.
    content BLOB NOT NULL,
    blob_n BIGINT NOT NULL REFERENCES blobs (n),
    -- 0: as it first came; 1: an edit; 2: an import; 3: an older version again.
    origin SMALLINT NOT NULL,
    created BIGINT NOT NULL
);
CREATE UNIQUE INDEX card_versions_by_number ON card_versions (card, number);
CREATE INDEX card_versions_by_blob ON card_versions (blob_n);
