-- The author's note of a session: {"text", "place", "depth", "role", "every", "lore"}; nothing where there is none.
ALTER TABLE sessions ADD COLUMN note TEXT;
