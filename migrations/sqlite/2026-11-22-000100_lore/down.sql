DROP INDEX lorebooks_by_change;
DROP TABLE lore_embedded;
DROP TABLE lore_texts;
ALTER TABLE users DROP COLUMN lore;
