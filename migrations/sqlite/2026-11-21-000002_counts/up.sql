-- How much there is in a session, kept with each operation, so that opening one does not count: nodes without the root, and
-- nodes below which there is nothing. Hidden nodes count for neither.
ALTER TABLE sessions ADD COLUMN node_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN leaf_count BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET
    node_count = (SELECT COUNT(*) FROM nodes
        WHERE nodes.session_n = sessions.n AND nodes.parent_n IS NOT NULL AND NOT nodes.is_hidden),
    leaf_count = (SELECT COUNT(*) FROM nodes
        WHERE nodes.session_n = sessions.n AND NOT nodes.is_hidden AND NOT EXISTS (
            SELECT 1 FROM nodes AS below WHERE below.parent_n = nodes.n AND NOT below.is_hidden));
