-- Model servers that were connected while the server runs; those of config.toml stand there alone. The key is sealed with one
-- that lies outside of the database.
CREATE TABLE providers (
    n INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    base_url TEXT NOT NULL,
    sealed_key BLOB,
    models TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
-- What was chosen for the whole server over what config.toml says, by its name.
CREATE TABLE choices (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
