ALTER TABLE sessions DROP COLUMN preset;
