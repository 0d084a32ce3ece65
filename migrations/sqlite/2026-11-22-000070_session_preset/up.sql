-- The preset by which a session's prompts are made, by its id; none = as the server makes them. It may be gone: then as if none.
ALTER TABLE sessions ADD COLUMN preset TEXT;
