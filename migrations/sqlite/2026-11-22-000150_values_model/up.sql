-- The model that keeps the values of a session after each reply; none = whoever writes the reply does.
ALTER TABLE sessions ADD COLUMN values_model TEXT;
