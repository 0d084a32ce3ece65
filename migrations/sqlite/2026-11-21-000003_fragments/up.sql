-- What was pruned lies in fragments, outside the tree. Its nodes are hidden and say which fragment they lie in; the top
-- one keeps its parent: that is where it was. A node that is hidden and lies in no fragment was taken back by an undo.
CREATE TABLE fragments (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    session_n BIGINT NOT NULL REFERENCES sessions (n),
    name TEXT,
    top_n BIGINT NOT NULL REFERENCES nodes (n),
    created BIGINT NOT NULL
);
CREATE INDEX fragments_by_session ON fragments (session_n);

ALTER TABLE nodes ADD COLUMN fragment_n BIGINT;
CREATE INDEX nodes_by_fragment ON nodes (fragment_n) WHERE fragment_n IS NOT NULL;

-- Names on nodes. A following one moves with what is appended at it.
CREATE TABLE labels (
    n INTEGER NOT NULL PRIMARY KEY,
    session_n BIGINT NOT NULL REFERENCES sessions (n),
    name TEXT NOT NULL,
    node_n BIGINT NOT NULL REFERENCES nodes (n),
    following BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX labels_by_name ON labels (session_n, name);
CREATE INDEX labels_by_node ON labels (node_n);

-- The highest number that a table ever gave, once rows are gone for good: what refers to a row by its number never finds
-- another one there.
CREATE TABLE numbers (
    name TEXT NOT NULL PRIMARY KEY,
    highest BIGINT NOT NULL
);

-- Children stand in the order in which they came, which is that of their row numbers: a place of their own would have to
-- be found anew for each that is moved. The column `ordinal` is read no more.
DROP INDEX nodes_by_parent;
CREATE INDEX nodes_by_parent ON nodes (parent_n);
