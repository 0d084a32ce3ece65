ALTER TABLE sessions DROP COLUMN requested;
