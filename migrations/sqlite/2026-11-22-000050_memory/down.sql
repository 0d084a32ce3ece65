DROP TABLE embedders;
DROP TABLE embedded;
DROP TABLE vectors;
DROP TABLE documents;
ALTER TABLE sessions DROP COLUMN recall;
