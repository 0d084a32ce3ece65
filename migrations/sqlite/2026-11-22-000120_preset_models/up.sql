-- For which models a preset is used where a session chose none: a list of names, as its body says under extensions.clotho.
ALTER TABLE presets ADD COLUMN models TEXT;
CREATE INDEX presets_by_models ON presets (owner_n) WHERE models IS NOT NULL;
