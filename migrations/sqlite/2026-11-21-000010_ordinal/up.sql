-- Nobody has read it since children stand in the order in which they came. This writes each node anew, once: of a million of
-- them it takes some two seconds, and 150 MB in the write-ahead log until it is emptied.
ALTER TABLE nodes DROP COLUMN ordinal;
