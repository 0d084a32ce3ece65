-- The title in lower case and without accents, for search and order. SQL cannot fold: the program fills it at its next start.
ALTER TABLE sessions ADD COLUMN title_form TEXT;
-- The folder of the list that shows the session; none = no folder.
ALTER TABLE sessions ADD COLUMN folder TEXT;
ALTER TABLE sessions ADD COLUMN is_pinned BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX sessions_without_title_form ON sessions (n) WHERE title_form IS NULL;
-- The tags of a session. Forms without case and accents are compared, texts are shown.
CREATE TABLE session_tags (
    session_n BIGINT NOT NULL,
    form TEXT NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (session_n, form)
);
