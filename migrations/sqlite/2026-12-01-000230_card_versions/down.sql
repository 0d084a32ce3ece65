DROP TABLE card_versions;
