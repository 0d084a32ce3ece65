-- Which regex scripts of strangers change what is sent in a session: {"card": bool, "preset": bool}.
ALTER TABLE sessions ADD COLUMN scripts TEXT NOT NULL DEFAULT '{"card":true,"preset":true}';
