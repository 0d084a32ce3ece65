ALTER TABLE characters DROP COLUMN outside;
