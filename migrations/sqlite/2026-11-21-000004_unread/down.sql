ALTER TABLE nodes DROP COLUMN is_unread;
