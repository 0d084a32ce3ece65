ALTER TABLE providers DROP COLUMN context_tokens;
