ALTER TABLE sessions DROP COLUMN connection_profile_id;
DROP TABLE connection_profiles;
