ALTER TABLE sessions DROP COLUMN scripts;
