ALTER TABLE sessions DROP COLUMN values_model;
