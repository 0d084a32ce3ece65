DROP TABLE choices;
DROP TABLE providers;
