DROP INDEX nodes_by_parent;
CREATE INDEX nodes_by_parent ON nodes (parent_n, ordinal);
DROP TABLE numbers;
DROP TABLE labels;
DROP INDEX nodes_by_fragment;
ALTER TABLE nodes DROP COLUMN fragment_n;
DROP TABLE fragments;
