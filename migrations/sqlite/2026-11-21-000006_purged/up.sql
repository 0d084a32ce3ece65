-- What was purged, by the row that it had: the hash of its text, for the traces of others that go on naming it.
CREATE TABLE purged (
    n INTEGER NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL
);
