DROP INDEX traces_by_base;
ALTER TABLE traces DROP COLUMN base_n;
