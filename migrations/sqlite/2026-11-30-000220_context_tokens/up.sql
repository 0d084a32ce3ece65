-- The context length of the models of a connected server in tokens; none = the server is asked.
ALTER TABLE providers ADD COLUMN context_tokens BIGINT;
