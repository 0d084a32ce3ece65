ALTER TABLE sessions DROP COLUMN leaf_count;
ALTER TABLE sessions DROP COLUMN node_count;
