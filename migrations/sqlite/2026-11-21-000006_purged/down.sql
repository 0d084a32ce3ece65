DROP TABLE purged;
