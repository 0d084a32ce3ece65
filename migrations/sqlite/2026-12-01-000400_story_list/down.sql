DROP TABLE session_tags;
DROP INDEX sessions_without_title_form;
ALTER TABLE sessions DROP COLUMN is_pinned;
ALTER TABLE sessions DROP COLUMN folder;
ALTER TABLE sessions DROP COLUMN title_form;
