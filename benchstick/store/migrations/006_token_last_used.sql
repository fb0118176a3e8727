-- When a token was used last, to the hour: a script that asks each second writes once an hour.
ALTER TABLE tokens ADD COLUMN used_utc TEXT;
