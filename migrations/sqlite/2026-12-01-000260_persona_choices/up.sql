-- The persona that new sessions get: by default, where `target` is empty, or with the character whose id is `target`.
CREATE TABLE persona_choices (
    owner_n BIGINT NOT NULL,
    target BLOB NOT NULL,
    -- The id of the persona.
    persona BLOB NOT NULL,
    PRIMARY KEY (owner_n, target)
);
