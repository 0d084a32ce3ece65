-- What came in from files of other programs: what each has become, so that the same file adds nothing a second time, and
-- what it said beside its messages, so that it can be written back. A name is that of a file, or a place in a story by
-- which a grown copy of the file is known again.
CREATE TABLE sources (
    n INTEGER NOT NULL PRIMARY KEY,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    name TEXT NOT NULL,
    -- The hash of the file as it was; nothing while not all of it is in.
    hash BLOB,
    -- The session, character or persona.
    became BLOB NOT NULL,
    -- The node at which a chat ends.
    node BLOB,
    -- The header of a chat.
    header TEXT
);
CREATE UNIQUE INDEX sources_by_name ON sources (owner_n, name);
CREATE INDEX sources_by_thing ON sources (became);

-- What an import of such files has brought, for whoever asks after a restart.
ALTER TABLE jobs ADD COLUMN report TEXT;
