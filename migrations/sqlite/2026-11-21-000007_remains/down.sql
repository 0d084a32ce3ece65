DROP TABLE remains;
