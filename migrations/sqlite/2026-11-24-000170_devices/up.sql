-- Devices of the house that an owner has paired.
CREATE TABLE devices (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL,
    name TEXT NOT NULL,
    -- A hash of the secret that the device keeps; the secret itself is nowhere here.
    secret BLOB NOT NULL UNIQUE,
    created BIGINT NOT NULL,
    -- When it was seen last, to the hour.
    seen BIGINT NOT NULL
);
