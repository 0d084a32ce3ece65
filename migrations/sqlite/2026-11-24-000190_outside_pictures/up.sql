-- Whether pictures of other servers are shown for a card; none = nobody was asked.
ALTER TABLE characters ADD COLUMN outside BOOLEAN;
