-- The settings that an imported file wants and that its owner has not accepted; none = it waits for no answer.
ALTER TABLE sessions ADD COLUMN requested TEXT;
