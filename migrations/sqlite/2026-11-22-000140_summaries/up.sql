-- Whether a session sums itself up: {enabled, every, model} as JSON; none = it does not.
ALTER TABLE sessions ADD COLUMN summaries TEXT;
-- What a model made of a run of messages of one line. Derived.
CREATE TABLE summaries (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    session_n BIGINT NOT NULL,
    -- 1: of messages; one more than those that it was made of; 0: it is gone, and what it cost stays.
    level SMALLINT NOT NULL,
    -- The first and the last of the messages, and a hash of the rows from the one to the other as they stood.
    first_n BIGINT NOT NULL,
    last_n BIGINT NOT NULL,
    hash BLOB NOT NULL,
    content TEXT NOT NULL,
    is_edited BOOLEAN NOT NULL,
    -- An object: model, tokens, cost.
    metadata TEXT NOT NULL,
    created BIGINT NOT NULL
);
CREATE INDEX summaries_by_session ON summaries (session_n);
-- Which messages it was made of, so that it goes when one of them does.
CREATE TABLE summarised (
    summary_n BIGINT NOT NULL,
    node_n BIGINT NOT NULL,
    PRIMARY KEY (summary_n, node_n)
);
CREATE INDEX summarised_by_node ON summarised (node_n);
