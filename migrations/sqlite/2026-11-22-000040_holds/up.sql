-- For what a lorebook holds: everything, or a session, a persona or a character by its id, which is empty for everything. Books
-- that a card names hold for its character without a row here.
CREATE TABLE holds (
    n INTEGER NOT NULL PRIMARY KEY,
    lorebook_n BIGINT NOT NULL REFERENCES lorebooks (n),
    scope TEXT NOT NULL,
    target BLOB NOT NULL
);
CREATE UNIQUE INDEX holds_by_lorebook ON holds (lorebook_n, scope, target);
CREATE INDEX holds_by_target ON holds (scope, target);
-- What came in before said so in the book itself.
INSERT INTO holds (n, lorebook_n, scope, target)
    SELECT n, n, 'everything', x'' FROM lorebooks
    WHERE json_valid(book) AND json_extract(book, '$.extensions.clotho.isForAll') = 1;
