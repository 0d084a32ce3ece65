-- Files of characters and personas: pictures, and what else came with a card. `card` is the id of either.
CREATE TABLE card_files (
    n INTEGER NOT NULL PRIMARY KEY,
    card BLOB NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    blob_n BIGINT NOT NULL REFERENCES blobs (n)
);
CREATE UNIQUE INDEX card_files_by_name ON card_files (card, name);
CREATE INDEX card_files_by_blob ON card_files (blob_n);

CREATE TABLE lorebooks (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    book TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    trashed BIGINT
);
CREATE INDEX lorebooks_by_owner ON lorebooks (owner_n);
