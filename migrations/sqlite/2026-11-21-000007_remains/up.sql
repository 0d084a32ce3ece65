-- A mark for what was destroyed, from the commit that destroyed it until no file has its bytes any more.
CREATE TABLE remains (
    n INTEGER NOT NULL PRIMARY KEY
);
-- Where something was destroyed before there were marks, a crash may have left some of it.
INSERT INTO remains (n) SELECT 1 FROM numbers WHERE name = 'nodes';
