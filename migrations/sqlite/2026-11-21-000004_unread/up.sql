-- A reply that ended where nobody looked, until HEAD stands on it or below.
ALTER TABLE nodes ADD COLUMN is_unread BOOLEAN NOT NULL DEFAULT FALSE;
