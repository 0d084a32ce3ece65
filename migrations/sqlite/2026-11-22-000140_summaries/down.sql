DROP TABLE summarised;
DROP TABLE summaries;
ALTER TABLE sessions DROP COLUMN summaries;
