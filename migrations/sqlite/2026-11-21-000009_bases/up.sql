-- The node on whose trace a trace stands, 0 for none: so a purge finds the traces that stand on what goes without unpacking
-- all of them. Nothing stands there for those from before, until they are looked into, piece by piece, once a day.
ALTER TABLE traces ADD COLUMN base_n BIGINT;
CREATE INDEX traces_by_base ON traces (base_n);
