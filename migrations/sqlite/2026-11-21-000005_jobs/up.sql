-- Files that were handed in, so that whoever asks after a restart is told what became of them. One without a session has
-- not come in.
CREATE TABLE jobs (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    session BLOB,
    began BIGINT NOT NULL
);
