DROP TABLE lorebooks;
DROP TABLE card_files;
