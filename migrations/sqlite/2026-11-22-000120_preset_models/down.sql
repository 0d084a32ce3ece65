DROP INDEX presets_by_models;
ALTER TABLE presets DROP COLUMN models;
