-- What a session recalls: {enabled, collections} as JSON; none = nothing.
ALTER TABLE sessions ADD COLUMN recall TEXT;
-- Texts that somebody keeps for prompts, by collections.
CREATE TABLE documents (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    collection TEXT NOT NULL,
    content TEXT NOT NULL,
    -- An object.
    metadata TEXT NOT NULL,
    -- The hash by which its vector is found.
    hash BLOB NOT NULL,
    created BIGINT NOT NULL
);
CREATE INDEX documents_by_collection ON documents (owner_n, collection);
CREATE INDEX documents_by_hash ON documents (hash);
-- What a model of embeddings made of a text: numbers of 32 bits, little-endian, of length 1 together. Derived.
CREATE TABLE vectors (
    n INTEGER NOT NULL PRIMARY KEY,
    model TEXT NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_by_hash ON vectors (hash, model);
-- Which text of a node has a vector, so that it goes when the node does.
CREATE TABLE embedded (
    node_n INTEGER NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL
);
CREATE INDEX embedded_by_hash ON embedded (hash);
-- How far in the log each model got, and how many numbers its vectors have.
CREATE TABLE embedders (
    model TEXT NOT NULL PRIMARY KEY,
    size INTEGER NOT NULL,
    cursor BIGINT NOT NULL
);
