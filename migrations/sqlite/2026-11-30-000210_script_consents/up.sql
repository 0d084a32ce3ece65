-- What a user said about the regex scripts of an imported card or preset, by a hash of the scripts; none = they run.
CREATE TABLE script_consents (
    owner_n BIGINT NOT NULL,
    hash BLOB NOT NULL,
    -- 0: nobody has answered; 1: they run; 2: they do not.
    answer SMALLINT NOT NULL,
    PRIMARY KEY (owner_n, hash)
);
