-- What other programs keep for their prompts: samplers and blocks, templates, regular expressions and the like. The body is
-- JSON of its kind, kept whole.
CREATE TABLE presets (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The file that it came in.
    file TEXT,
    body TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    trashed BIGINT
);
CREATE INDEX presets_by_owner ON presets (owner_n, kind);
