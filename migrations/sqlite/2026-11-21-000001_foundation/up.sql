-- Integers inside (parents point to n), sixteen-byte ids at the door. Walking a path touches the narrow `nodes` rows;
-- texts, deltas, worlds and traces lie apart. Words are small numbers here; crates/core/src/tree/node.rs names them.

CREATE TABLE users (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created BIGINT NOT NULL
);

-- Content-addressed bytes: cards as they were when a session began, rules, schemas, prompt blocks, parts of large worlds.
CREATE TABLE blobs (
    n INTEGER NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
);

CREATE TABLE characters (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    card TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    trashed BIGINT
);
CREATE INDEX characters_by_owner ON characters (owner_n);

CREATE TABLE personas (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    card TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    trashed BIGINT
);
CREATE INDEX personas_by_owner ON personas (owner_n);

CREATE TABLE sessions (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    title TEXT NOT NULL,
    cards TEXT NOT NULL,
    persona TEXT,
    root_n BIGINT NOT NULL,
    head_n BIGINT NOT NULL,
    op BIGINT NOT NULL,
    head_op BIGINT NOT NULL,
    mode TEXT NOT NULL,
    model TEXT,
    params TEXT NOT NULL,
    plugins TEXT NOT NULL,
    seed BIGINT NOT NULL,
    -- Grows with each edit of the arrangement that can change a world; keyframes remember the value they were cut under.
    edits BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    trashed BIGINT
);
CREATE INDEX sessions_by_owner ON sessions (owner_n, updated);

CREATE TABLE nodes (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    session_n BIGINT NOT NULL REFERENCES sessions (n),
    parent_n BIGINT,
    ordinal INTEGER NOT NULL,
    role SMALLINT NOT NULL,
    kind SMALLINT NOT NULL,
    status SMALLINT NOT NULL,
    is_enabled BOOLEAN NOT NULL,
    is_muted BOOLEAN NOT NULL,
    is_hidden BOOLEAN NOT NULL,
    author BLOB,
    persona BLOB,
    speaker BLOB,
    remembered_n BIGINT,
    -- 1 to 5 stars.
    rating SMALLINT,
    depth INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    -- Nodes since the last keyframe above or at this one; 0 = one was cut here. Derived.
    since_keyframe INTEGER NOT NULL,
    -- The rules in force here: a blob naming plugins, versions and schemas by hash. Recorded where they begin, derived
    -- from the path below.
    rules_n BIGINT,
    begins_rules BOOLEAN NOT NULL,
    dice_seed BIGINT NOT NULL,
    -- The delta revision in force; 0 = the node changes nothing.
    revision INTEGER NOT NULL,
    created BIGINT NOT NULL
);
CREATE INDEX nodes_by_parent ON nodes (parent_n, ordinal);
CREATE INDEX nodes_by_session ON nodes (session_n);
CREATE INDEX nodes_generating ON nodes (n) WHERE status = 0;

CREATE TABLE texts (
    n INTEGER NOT NULL PRIMARY KEY REFERENCES nodes (n),
    name TEXT,
    content TEXT NOT NULL,
    reasoning TEXT,
    metadata TEXT NOT NULL
);

-- What has arrived of a reply that is still being written, a second's worth a row.
CREATE TABLE segments (
    n INTEGER NOT NULL PRIMARY KEY,
    node_n BIGINT NOT NULL REFERENCES nodes (n),
    content TEXT NOT NULL,
    reasoning TEXT NOT NULL
);
CREATE INDEX segments_by_node ON segments (node_n);

CREATE TABLE deltas (
    n INTEGER NOT NULL PRIMARY KEY,
    node_n BIGINT NOT NULL REFERENCES nodes (n),
    revision INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX deltas_by_node ON deltas (node_n, revision);

-- A cache of the fold: may be emptied at any time.
CREATE TABLE keyframes (
    node_n INTEGER NOT NULL PRIMARY KEY REFERENCES nodes (n),
    edits BIGINT NOT NULL,
    body BLOB NOT NULL
);

-- Where the arrangement of a session changed in a way that outdates keyframes below.
CREATE TABLE edits (
    n INTEGER NOT NULL PRIMARY KEY,
    session_n BIGINT NOT NULL REFERENCES sessions (n),
    edit BIGINT NOT NULL,
    node_n BIGINT NOT NULL
);
CREATE INDEX edits_by_session ON edits (session_n, edit);

CREATE TABLE traces (
    node_n INTEGER NOT NULL PRIMARY KEY REFERENCES nodes (n),
    body BLOB NOT NULL
);

-- The log. `n` is the global cursor, `op` the dense number within the session.
CREATE TABLE operations (
    n INTEGER NOT NULL PRIMARY KEY,
    session_n BIGINT NOT NULL REFERENCES sessions (n),
    op BIGINT NOT NULL,
    step BIGINT NOT NULL,
    act TEXT NOT NULL,
    actor BLOB,
    at BIGINT NOT NULL,
    effects TEXT NOT NULL
);
CREATE UNIQUE INDEX operations_by_session ON operations (session_n, op);

-- First answers to requests that carried an Idempotency-Key, kept for a day.
CREATE TABLE answers (
    n INTEGER NOT NULL PRIMARY KEY,
    caller_n BIGINT NOT NULL REFERENCES users (n),
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    status SMALLINT NOT NULL,
    body TEXT NOT NULL,
    created BIGINT NOT NULL
);
CREATE UNIQUE INDEX answers_by_key ON answers (caller_n, key);
CREATE INDEX answers_by_age ON answers (created);
