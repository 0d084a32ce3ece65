-- Connection profiles: named sets of the settings that say which models tell a story, and how they are asked.
CREATE TABLE connection_profiles (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner_n BIGINT NOT NULL REFERENCES users (n),
    name TEXT NOT NULL,
    -- The settings, an object: model, params, preset, summariesModel, valuesModel.
    settings TEXT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE UNIQUE INDEX connection_profiles_by_name ON connection_profiles (owner_n, name);
-- The profile that was last chosen for a session, by its id; none = no profile. It may be gone: then as if none.
ALTER TABLE sessions ADD COLUMN connection_profile_id TEXT;
